class Oomdoc < Formula
  desc "$brief"
  homepage "$repository"
  version "$version"
  license any_of: ["MIT", "Apache-2.0"]

$archives

  def install
    bin.install "bin/oomdoc"
    man1.install Dir["share/man/man1/*.1"]
    bash_completion.install "share/bash-completion/completions/oomdoc"
    zsh_completion.install "share/zsh/site-functions/_oomdoc"
    fish_completion.install "share/fish/vendor_completions.d/oomdoc.fish"
  end

  test do
    (testpath/"job.log").write "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
    assert_match "gpu_oom", shell_output("#{bin}/oomdoc analyze --no-save job.log")
  end
end
