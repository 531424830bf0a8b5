# The parts of Homebrew that a formula uses, replaced by printing: `ruby formula.rb FORMULA SYSTEM CPU`, run in the unpacked archive.
FORMULA, SYSTEM, CPU = ARGV

class Formula
  class << self
    def desc(text) = (raise "#{text.length} characters" if text.length > 80)
    def version(text) = puts("version #{text}")
    def url(text) = puts("url #{text}")
    def sha256(text) = puts("sha256 #{text}")
    def homepage(_text) = nil
    def license(_licences) = nil
    def test(&) = nil
    %w[macos linux].each { |name| define_method("on_#{name}") { |&block| block.call if SYSTEM == name } }
    %w[arm intel].each { |name| define_method("on_#{name}") { |&block| block.call if CPU == name } }
  end

  # The files to install must exist.
  Place = Struct.new(:name) do
    def install(*files)
      files.flatten.each do |file|
        raise "#{file} is missing" unless File.file?(file)

        puts "#{name}: #{file}"
      end
    end
  end
  %w[bin man1 bash_completion zsh_completion fish_completion].each { |name| define_method(name) { Place.new(name) } }
end

load FORMULA
Oomdoc.new.install
