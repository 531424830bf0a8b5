# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_oomdoc_global_optspecs
    string join \n home= server= color= config= no-config h/help V/version
end

function __fish_oomdoc_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_oomdoc_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_oomdoc_using_subcommand
    set -l cmd (__fish_oomdoc_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c oomdoc -n "__fish_oomdoc_needs_command" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_needs_command" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_needs_command" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_needs_command" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_needs_command" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_needs_command" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_needs_command" -s V -l version -d 'Print version'
complete -c oomdoc -n "__fish_oomdoc_needs_command" -f -a "analyze" -d 'Say what ran out, where, in which phase and with which figures, and prove it'
complete -c oomdoc -n "__fish_oomdoc_needs_command" -f -a "digest" -d 'Read the logs of this node into a small digest, which `merge` joins with those of other nodes'
complete -c oomdoc -n "__fish_oomdoc_needs_command" -f -a "merge" -d 'Join the digests of many nodes into the report that one analysis over all their logs would give'
complete -c oomdoc -n "__fish_oomdoc_needs_command" -f -a "run" -d 'Run a command and record its memory, so that its end can be explained without the kernel\'s log'
complete -c oomdoc -n "__fish_oomdoc_needs_command" -f -a "triage" -d 'Analyze in a pipeline: report files, an annotation, the step\'s summary, one comment on the pull or merge request'
complete -c oomdoc -n "__fish_oomdoc_needs_command" -f -a "serve" -d 'Serve the history to a team: pages, an HTTP API, and a bot that answers failed jobs'
complete -c oomdoc -n "__fish_oomdoc_needs_command" -f -a "fix" -d 'Show the configuration change that the report proposes, or make it'
complete -c oomdoc -n "__fish_oomdoc_needs_command" -f -a "estimate" -d 'Say how much memory a job should need on each GPU and host, moment by moment, and what makes it fit'
complete -c oomdoc -n "__fish_oomdoc_needs_command" -f -a "explain" -d 'Explain a word of reports and rules: a cause, kind, phase, figure, lever, fact, or a knob as you spell it'
complete -c oomdoc -n "__fish_oomdoc_needs_command" -f -a "rules" -d 'List, check, test and import rules: what oomdoc knows of the causes of out-of-memory failures'
complete -c oomdoc -n "__fish_oomdoc_needs_command" -f -a "history" -d 'Find earlier incidents, and record what solved them'
complete -c oomdoc -n "__fish_oomdoc_needs_command" -f -a "mcp" -d 'Serve oomdoc\'s tools to assistants that speak the Model Context Protocol, on standard input and output: docs/mcp.md'
complete -c oomdoc -n "__fish_oomdoc_needs_command" -f -a "config" -d 'Show the settings in effect, and where each comes from: docs/configuration.md'
complete -c oomdoc -n "__fish_oomdoc_needs_command" -f -a "completions" -d 'Write the completions of a shell: `oomdoc completions bash > ~/.local/share/bash-completion/completions/oomdoc`'
complete -c oomdoc -n "__fish_oomdoc_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -l format -d 'How to show the report' -r -f -a "text\t'One screen for a terminal'
json\t'Everything, for programs'
markdown\t'For comments and chat'
html\t'One self-contained page'
sarif\t'SARIF 2.1.0, for code scanning'
github\t'An annotation, and the step summary of GitHub Actions'"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -l rank -d 'Show what is known of this rank alone, in a job of many' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -l node -d 'Show what is known of the ranks of this node alone' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -s o -l output -d 'Write the report to this file instead of printing it' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -l lang -d 'The language, `en` or `zh` [default: $OOMDOC_LANG, `language` of oomdoc.toml, else your locale]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -l fact -d 'Facts that nothing else states, as rules name them: `model=8b`, `gpu=A100-80G`, `host.memory=500GiB`' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -l when -d 'Say when it happened, where the log does not: `2026-11-20T10:00`, or a date' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -l job -d 'Name the job, so that `history search job:NAME` finds it' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -l tag -d 'Tag the incident, so that `history search tag:TAG` finds it; comma-separated or repeated' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -l fail-on -d 'Exit with 1 if the verdict is one of these kinds (comma-separated) or `any`; `none` never does' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -l notify -d 'Post a message about it to this address as JSON (Slack and others)' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -l full -d 'Show the whole text report, not only what fits on a screen'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -l brief -d 'Show three lines: what ran out, why, and what to do'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -l compact -d 'With `--format json`: the verdict, causes, first patch and citations in less than 4 KB'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -l each -d 'Write one report per log'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -l together -d 'Write one report over all logs, even if they seem to be from different jobs'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -s q -l quiet -d 'Print no report; the exit code tells the result'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -l no-save -d 'Do not keep the incident in the history'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -l redact -d 'Mask secrets in the output too, not only in what is kept or sent'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand analyze" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand digest" -s o -l output -d 'Write the digest to this file instead of standard output' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand digest" -l node -d 'What citations call this node [default: its host name]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand digest" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand digest" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand digest" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand digest" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand digest" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand digest" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l unanswered -d 'Name a node that gave no digest' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l format -d 'How to show the report' -r -f -a "text\t'One screen for a terminal'
json\t'Everything, for programs'
markdown\t'For comments and chat'
html\t'One self-contained page'
sarif\t'SARIF 2.1.0, for code scanning'
github\t'An annotation, and the step summary of GitHub Actions'"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l rank -d 'Show what is known of this rank alone, in a job of many' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l node -d 'Show what is known of the ranks of this node alone' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -s o -l output -d 'Write the report to this file instead of printing it' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l lang -d 'The language, `en` or `zh` [default: $OOMDOC_LANG, `language` of oomdoc.toml, else your locale]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l fact -d 'Facts that nothing else states, as rules name them: `model=8b`, `gpu=A100-80G`, `host.memory=500GiB`' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l when -d 'Say when it happened, where the log does not: `2026-11-20T10:00`, or a date' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l job -d 'Name the job, so that `history search job:NAME` finds it' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l tag -d 'Tag the incident, so that `history search tag:TAG` finds it; comma-separated or repeated' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l fail-on -d 'Exit with 1 if the verdict is one of these kinds (comma-separated) or `any`; `none` never does' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l notify -d 'Post a message about it to this address as JSON (Slack and others)' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l digest -d 'Write the joined digest instead of a report, to be joined further'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l full -d 'Show the whole text report, not only what fits on a screen'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l brief -d 'Show three lines: what ran out, why, and what to do'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l compact -d 'With `--format json`: the verdict, causes, first patch and citations in less than 4 KB'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l each -d 'Write one report per log'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l together -d 'Write one report over all logs, even if they seem to be from different jobs'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -s q -l quiet -d 'Print no report; the exit code tells the result'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l no-save -d 'Do not keep the incident in the history'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l redact -d 'Mask secrets in the output too, not only in what is kept or sent'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand merge" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand run" -l attach -d 'Record a running process and its children, until it ends' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand run" -l log -d 'Keep what the command prints in this file [default: oomdoc-TIME-HOST-PID.log]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand run" -l log-size -d 'Keep at most this much of it: the beginning and the end' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand run" -l record -d 'Write the record to this file [default: next to the log, ending in .record]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand run" -l record-size -d 'Limit the size of the record' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand run" -l interval -d 'Sample memory at this interval; more often while it rises towards a limit' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand run" -l retry -d 'If it runs out of memory, make the proposed change in copies of its files and run it again, at most N times' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand run" -l lang -d 'The language, `en` or `zh` [default: $OOMDOC_LANG, `language` of oomdoc.toml, else your locale]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand run" -l fact -d 'Facts that nothing else states, as rules name them: `model=8b`, `gpu=A100-80G`, `host.memory=500GiB`' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand run" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand run" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand run" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand run" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand run" -l no-log -d 'Keep no log: the command prints directly to oomdoc\'s own output'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand run" -l quiet-success -d 'Print nothing if the command succeeds'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand run" -l no-save -d 'Do not keep the incident in the history'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand run" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand run" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand triage" -l output -d 'The folder for the report as JSON, HTML, Markdown and SARIF' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand triage" -l lang -d 'The language, `en` or `zh` [default: $OOMDOC_LANG, `language` of oomdoc.toml, else your locale]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand triage" -l fact -d 'Facts that nothing else states, as rules name them: `model=8b`, `gpu=A100-80G`, `host.memory=500GiB`' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand triage" -l comment-key -d 'Tell this job\'s comment from others, if several jobs share a name [default: the job\'s name]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand triage" -l when -d 'Say when it happened, where the log does not: `2026-11-20T10:00`, or a date' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand triage" -l job -d 'Name the job, so that `history search job:NAME` finds it' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand triage" -l tag -d 'Tag the incident, so that `history search tag:TAG` finds it; comma-separated or repeated' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand triage" -l fail-on -d 'Exit with 1 if the verdict is one of these kinds (comma-separated) or `any`; `none` never does [default: `triage.fail_on` of oomdoc.toml, else none]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand triage" -l notify -d 'Post a message about a failure to this address as JSON (Slack and others) [default: `triage.notify` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand triage" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand triage" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand triage" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand triage" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand triage" -l no-save -d 'Do not keep the incident in the history'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand triage" -l no-comment -d 'Write no comment'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand triage" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand triage" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and not __fish_seen_subcommand_from token help" -l listen -d 'Where to listen [default: `serve.listen` of your oomdoc.toml, else 127.0.0.1:8673, which only this machine reaches]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and not __fish_seen_subcommand_from token help" -l public-url -d 'The address by which people reach it, if it is behind a proxy: https://oomdoc.example.org' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and not __fish_seen_subcommand_from token help" -l anonymous -d 'What somebody without a token may do [default: nothing]' -r -f -a "nothing\t''
read\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and not __fish_seen_subcommand_from token help" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and not __fish_seen_subcommand_from token help" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and not __fish_seen_subcommand_from token help" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and not __fish_seen_subcommand_from token help" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and not __fish_seen_subcommand_from token help" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and not __fish_seen_subcommand_from token help" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and not __fish_seen_subcommand_from token help" -f -a "token" -d 'Make, list and revoke the tokens that identify people and programs'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and not __fish_seen_subcommand_from token help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and __fish_seen_subcommand_from token" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and __fish_seen_subcommand_from token" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and __fish_seen_subcommand_from token" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and __fish_seen_subcommand_from token" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and __fish_seen_subcommand_from token" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and __fish_seen_subcommand_from token" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and __fish_seen_subcommand_from token" -f -a "create" -d 'Make a token, and print it: it is shown once and kept nowhere'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and __fish_seen_subcommand_from token" -f -a "list" -d 'List tokens'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and __fish_seen_subcommand_from token" -f -a "revoke" -d 'Revoke a token: its holder can do nothing with it from now on'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and __fish_seen_subcommand_from token" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and __fish_seen_subcommand_from help" -f -a "token" -d 'Make, list and revoke the tokens that identify people and programs'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand serve; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand fix" -l pick -d 'Which patches, by number or knob (comma-separated) [default: what the report proposes]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand fix" -l lang -d 'The language, `en` or `zh` [default: $OOMDOC_LANG, `language` of oomdoc.toml, else your locale]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand fix" -l fact -d 'Facts that nothing else states, as rules name them: `model=8b`, `gpu=A100-80G`, `host.memory=500GiB`' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand fix" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand fix" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand fix" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand fix" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand fix" -l diff -d 'Show the change without writing it (the default)'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand fix" -l write -d 'Write the change; a copy of each old file stays next to it'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand fix" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand fix" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l model -d 'The model: a size (`8b`), a name (`Qwen2.5-7B`), a path of either, or its config.json' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l parameters -d 'Number of parameters, for a model that is not known by name: `8.03b`, `8030261248`' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l from -d 'The job\'s configuration, launch script or log, or a folder of them' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l gpus -d 'GPUs per node' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l nodes -d 'Number of nodes' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l zero -d 'DeepSpeed\'s ZeRO stage' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l fsdp -d 'PyTorch\'s FSDP instead of ZeRO' -r -f -a "full\t'`FULL_SHARD`'
grad-op\t'`SHARD_GRAD_OP`'
hybrid\t'`HYBRID_SHARD`'"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l micro-batch -d 'Sequences per forward and backward pass on one GPU' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l sequence -d 'Tokens of the longest sequence' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l token-budget -d 'Tokens per pass on one GPU, if batches are packed or sorted by length' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l accumulation -d 'Passes per optimizer step' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l recomputation -d 'What the backward pass recomputes instead of keeping (gradient checkpointing)' -r -f -a "none\t'Nothing'
selective\t'Attention matrices'
full\t'All but each layer\'s input'"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l precision -d 'The precision of training' -r -f -a "mixed\t'16-bit weights and gradients, fp32 master weights: DeepSpeed'
mixed-fp32-gradients\t'The same with fp32 gradients: Megatron'
autocast\t'fp32, computed in 16 bit: autocast, FSDP\'s mixed precision'
fp32\t'All in fp32'
pure16-bit\t'All in 16 bit'"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l optimizer -d 'The optimizer' -r -f -a "adamw\t'Two moments'
adamw-8bit\t'Two moments in 8 bit'
adafactor\t'Row and column sums'
lion\t'One moment'
sgd\t'None'"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l lora -d 'Train a LoRA adapter of this rank instead of the weights' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l quantised -d 'Quantise the weights under an adapter' -r -f -a "4bit\t'QLoRA'
8bit\t'LLM.int8()'"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l tensor-parallel -d 'GPUs that split each layer' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l pipeline-parallel -d 'Pipeline stages' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l sequence-parallel -d 'GPUs that share each sequence' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l fit -d 'Find the cheapest changes with which it fits GPUs of this size: `80GiB`' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l host -d 'Memory of each host, or the container\'s limit: `1.4TiB`' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l format -d 'How to show it' -r -f -a "text\t''
json\t''
markdown\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -s o -l output -d 'Write the report to this file instead of printing it' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l lang -d 'The language, `en` or `zh` [default: $OOMDOC_LANG, `language` of oomdoc.toml, else your locale]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l fact -d 'Facts that nothing else states, as rules name them: `model=8b`, `gpu=A100-80G`, `host.memory=500GiB`' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l adam-offload -d 'Keep optimizer states in host memory'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l param-offload -d 'Keep weights in host memory (ZeRO stage 3, FSDP)'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l activation-offload -d 'Keep activations in host memory'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l no-pin -d 'Offload to ordinary instead of page-locked memory'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l eager-attention -d 'Use attention that keeps its tokens × tokens matrix'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l fused-loss -d 'Use a loss that never holds all logits: Liger\'s fused or chunked cross entropy'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l all -d 'Show the parts of every moment, not only of the largest'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -s q -l quiet -d 'Print no report; the exit code tells the result'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand estimate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand explain" -l lang -d 'The language, `en` or `zh` [default: $OOMDOC_LANG, `language` of oomdoc.toml, else your locale]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand explain" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand explain" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand explain" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand explain" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand explain" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand explain" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and not __fish_seen_subcommand_from list new show check test fit calibrate import remove help" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and not __fish_seen_subcommand_from list new show check test fit calibrate import remove help" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and not __fish_seen_subcommand_from list new show check test fit calibrate import remove help" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and not __fish_seen_subcommand_from list new show check test fit calibrate import remove help" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and not __fish_seen_subcommand_from list new show check test fit calibrate import remove help" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and not __fish_seen_subcommand_from list new show check test fit calibrate import remove help" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and not __fish_seen_subcommand_from list new show check test fit calibrate import remove help" -f -a "list" -d 'List the rules of causes and where they come from'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and not __fish_seen_subcommand_from list new show check test fit calibrate import remove help" -f -a "new" -d 'Write a commented rule to start from, and a message of your own program that it recognises'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and not __fish_seen_subcommand_from list new show check test fit calibrate import remove help" -f -a "show" -d 'Show a rule: what it says, what speaks for and against it, what it changes'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and not __fish_seen_subcommand_from list new show check test fit calibrate import remove help" -f -a "check" -d 'Find rules that can never fire, name what is not known, or fail their own examples'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and not __fish_seen_subcommand_from list new show check test fit calibrate import remove help" -f -a "test" -d 'Run the examples of rules through the whole analysis'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and not __fish_seen_subcommand_from list new show check test fit calibrate import remove help" -f -a "fit" -d 'Fit the weights of signals and the confidence of diagnoses to labelled incidents, and show how well that does on others'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and not __fish_seen_subcommand_from list new show check test fit calibrate import remove help" -f -a "calibrate" -d 'Fit the weights of signals and the confidence of diagnoses to labelled incidents, and show how well that does on others'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and not __fish_seen_subcommand_from list new show check test fit calibrate import remove help" -f -a "import" -d 'Check your rules and keep them: from then on every analysis uses them'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and not __fish_seen_subcommand_from list new show check test fit calibrate import remove help" -f -a "remove" -d 'Remove an imported rule; a shipped rule that it replaced applies again'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and not __fish_seen_subcommand_from list new show check test fit calibrate import remove help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from list" -l lang -d 'The language, `en` or `zh` [default: $OOMDOC_LANG, `language` of oomdoc.toml, else your locale]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from list" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from list" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from list" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from list" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from list" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from new" -l in -d 'The folder of your rules' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from new" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from new" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from new" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from new" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from new" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from new" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from show" -l lang -d 'The language, `en` or `zh` [default: $OOMDOC_LANG, `language` of oomdoc.toml, else your locale]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from show" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from show" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from show" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from show" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from show" -l toml -d 'Print the file itself, as a start for a rule of your own'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from show" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from check" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from check" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from check" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from check" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from check" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from test" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from test" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from test" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from test" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from test" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from test" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from fit" -l keep -d 'Folders of the same form whose answers must stay right' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from fit" -l label -d 'The label\'s file name, JSON or TOML [default: truth.json or expected.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from fit" -l write -d 'Write the numbers below RULES: ranking/phases.toml, ranking/causes.toml, calibration.toml' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from fit" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from fit" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from fit" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from fit" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from fit" -l causes-only -d 'Fit causes only, and leave the weights for phases as they are'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from fit" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from fit" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from calibrate" -l keep -d 'Folders of the same form whose answers must stay right' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from calibrate" -l label -d 'The label\'s file name, JSON or TOML [default: truth.json or expected.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from calibrate" -l write -d 'Write the numbers below RULES: ranking/phases.toml, ranking/causes.toml, calibration.toml' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from calibrate" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from calibrate" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from calibrate" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from calibrate" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from calibrate" -l causes-only -d 'Fit causes only, and leave the weights for phases as they are'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from calibrate" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from calibrate" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from import" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from import" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from import" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from import" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from import" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from import" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from remove" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from remove" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from remove" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from remove" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from remove" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the rules of causes and where they come from'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "new" -d 'Write a commented rule to start from, and a message of your own program that it recognises'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show a rule: what it says, what speaks for and against it, what it changes'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "check" -d 'Find rules that can never fire, name what is not known, or fail their own examples'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "test" -d 'Run the examples of rules through the whole analysis'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "fit" -d 'Fit the weights of signals and the confidence of diagnoses to labelled incidents, and show how well that does on others'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "import" -d 'Check your rules and keep them: from then on every analysis uses them'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Remove an imported rule; a shipped rule that it replaced applies again'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -f -a "list" -d 'List incidents, newest first'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -f -a "search" -d 'Find incidents by words, fields, figures and times: phase:optimizer_step requested:>2GiB "pinned memory"'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -f -a "show" -d 'Show an incident as it was analysed, what was tried and what people say of it'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -f -a "similar" -d 'Find incidents similar to another one, or to that of a log, and show what they share'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -f -a "stats" -d 'Count incidents by kind, cause, phase, model, framework and week'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -f -a "resolve" -d 'Record what was tried after an incident and how it went: the next diagnosis takes it into account'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -f -a "tag" -d 'Name an incident\'s job and tag it, so that `job:` and `tag:` find it'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -f -a "outcomes" -d 'Show which changes worked here and how that affects diagnoses, or forget it'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -f -a "export" -d 'Write incidents and outcomes as lines of JSON: for another home, or for OpenSearch and Elasticsearch'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -f -a "import" -d 'Import what another history exported; incidents that are already here are not duplicated'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -f -a "backup" -d 'Write everything to one file, while others go on writing'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -f -a "restore" -d 'Restore a backup into an empty home, after checking all of it'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -f -a "prune" -d 'Remove old incidents'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -f -a "reindex" -d 'Rebuild everything derived from the incidents: the index, the groups, and what analyses are told'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -f -a "verify" -d 'Read and check every record and the index'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -f -a "compact" -d 'Free the space that removed incidents still take'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -f -a "salvage" -d 'Save whatever can still be read of a damaged history; the damaged file is kept'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -f -a "drain" -d 'Move waiting incidents from the spool into the store, or hand them to the server, and bring the index up to date'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and not __fish_seen_subcommand_from list search show similar stats resolve tag outcomes export import backup restore prune reindex verify compact salvage drain help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from list" -l format -d 'How to show them' -r -f -a "text\t''
json\t''
csv\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from list" -l limit -d 'Show at most this many' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from list" -l offset -d 'Skip this many first' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from list" -l lang -d 'The language, `en` or `zh` [default: $OOMDOC_LANG, `language` of oomdoc.toml, else your locale]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from list" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from list" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from list" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from list" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from list" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from search" -l format -d 'How to show them' -r -f -a "text\t''
json\t''
csv\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from search" -l sort -d 'What to sort by' -r -f -a "relevance\t''
time\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from search" -l limit -d 'Show at most this many' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from search" -l offset -d 'Skip this many first' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from search" -l lang -d 'The language, `en` or `zh` [default: $OOMDOC_LANG, `language` of oomdoc.toml, else your locale]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from search" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from search" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from search" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from search" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from search" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from search" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from show" -l format -d 'How to show it' -r -f -a "text\t''
json\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from show" -l lang -d 'The language, `en` or `zh` [default: $OOMDOC_LANG, `language` of oomdoc.toml, else your locale]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from show" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from show" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from show" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from show" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from show" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from similar" -l format -d 'How to show them' -r -f -a "text\t''
json\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from similar" -l limit -d 'Show at most this many' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from similar" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from similar" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from similar" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from similar" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from similar" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from similar" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from stats" -l since -d 'Count only what happened since: `30d`, `12w`, `6m`, `1y`, or a date' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from stats" -l by -d 'Count by these only; comma-separated' -r -f -a "kind\t''
cause\t''
phase\t''
model\t''
framework\t''
host\t''
cluster\t''
job\t''
week\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from stats" -l format -d 'How to show them' -r -f -a "text\t''
json\t''
csv\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from stats" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from stats" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from stats" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from stats" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from stats" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from stats" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from resolve" -l patch -d 'A patch by its number in the report' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from resolve" -l knob -d 'Any other change: `--knob=--zero_stage=3`' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from resolve" -l did -d 'What you did instead, in your words: `--did "moved the job to H200 nodes"`' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from resolve" -l note -d 'A note to keep; with --worked and no change, what you did' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from resolve" -l link -d 'A link to more: a ticket, a page, a merge request' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from resolve" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from resolve" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from resolve" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from resolve" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from resolve" -l worked -d 'It solved the problem'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from resolve" -l failed -d 'It did not'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from resolve" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from resolve" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from tag" -l job -d 'Name the job' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from tag" -l remove -d 'Remove these tags; comma-separated or repeated' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from tag" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from tag" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from tag" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from tag" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from tag" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from tag" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from outcomes" -l format -d 'How to show them' -r -f -a "text\t''
json\t''
csv\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from outcomes" -l reset -d 'Forget the outcomes of incident ID, or of all incidents without one' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from outcomes" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from outcomes" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from outcomes" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from outcomes" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from outcomes" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from outcomes" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from export" -l format -d '`jsonl` for another home, `bulk` for a search engine' -r -f -a "jsonl\t''
bulk\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from export" -l index -d 'The search engine\'s index' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from export" -l since -d 'Export only what changed since an earlier export: the mark that it printed; 0 is everything' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from export" -l next -d 'Write the mark for the next export into this file' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from export" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from export" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from export" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from export" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from export" -l template -d 'Write the search engine\'s index template instead'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from export" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from export" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from import" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from import" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from import" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from import" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from import" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from import" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from backup" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from backup" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from backup" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from backup" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from backup" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from backup" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from restore" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from restore" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from restore" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from restore" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from restore" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from restore" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from prune" -l older-than -d 'Remove those older than this: `90d`, `12w`, `6m`, `1y`' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from prune" -l keep-incidents -d 'Keep only this many of the newest' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from prune" -l keep-bytes -d 'Keep only this much of the newest, by their size in an export: `20GiB`' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from prune" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from prune" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from prune" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from prune" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from prune" -l keep-resolved -d 'Keep those that a change solved'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from prune" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from prune" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from reindex" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from reindex" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from reindex" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from reindex" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from reindex" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from reindex" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from verify" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from verify" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from verify" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from verify" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from verify" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from compact" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from compact" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from compact" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from compact" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from compact" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from compact" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from salvage" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from salvage" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from salvage" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from salvage" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from salvage" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from salvage" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from drain" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from drain" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from drain" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from drain" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from drain" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from drain" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "list" -d 'List incidents, newest first'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "search" -d 'Find incidents by words, fields, figures and times: phase:optimizer_step requested:>2GiB "pinned memory"'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show an incident as it was analysed, what was tried and what people say of it'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "similar" -d 'Find incidents similar to another one, or to that of a log, and show what they share'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "stats" -d 'Count incidents by kind, cause, phase, model, framework and week'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "resolve" -d 'Record what was tried after an incident and how it went: the next diagnosis takes it into account'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "tag" -d 'Name an incident\'s job and tag it, so that `job:` and `tag:` find it'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "outcomes" -d 'Show which changes worked here and how that affects diagnoses, or forget it'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "export" -d 'Write incidents and outcomes as lines of JSON: for another home, or for OpenSearch and Elasticsearch'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "import" -d 'Import what another history exported; incidents that are already here are not duplicated'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "backup" -d 'Write everything to one file, while others go on writing'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "restore" -d 'Restore a backup into an empty home, after checking all of it'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "prune" -d 'Remove old incidents'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "reindex" -d 'Rebuild everything derived from the incidents: the index, the groups, and what analyses are told'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "verify" -d 'Read and check every record and the index'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "compact" -d 'Free the space that removed incidents still take'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "salvage" -d 'Save whatever can still be read of a damaged history; the damaged file is kept'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "drain" -d 'Move waiting incidents from the spool into the store, or hand them to the server, and bring the index up to date'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand history; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand mcp" -l root -d 'Read only files below this folder; may be repeated [default: whatever you may read]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand mcp" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand mcp" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand mcp" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand mcp" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand mcp" -l no-save -d 'Keep no incident in the history, whatever the assistant asks'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand mcp" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand mcp" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand config; and not __fish_seen_subcommand_from show help" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand config; and not __fish_seen_subcommand_from show help" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand config; and not __fish_seen_subcommand_from show help" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand config; and not __fish_seen_subcommand_from show help" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand config; and not __fish_seen_subcommand_from show help" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand config; and not __fish_seen_subcommand_from show help" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand config; and not __fish_seen_subcommand_from show help" -f -a "show" -d 'Show each value in effect, and the file and line, the variable or the flag that sets it'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand config; and not __fish_seen_subcommand_from show help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand config; and __fish_seen_subcommand_from show" -l format -d 'How to show it' -r -f -a "text\t''
json\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand config; and __fish_seen_subcommand_from show" -l lang -d 'The language, `en` or `zh` [default: $OOMDOC_LANG, `language` of oomdoc.toml, else your locale]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand config; and __fish_seen_subcommand_from show" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand config; and __fish_seen_subcommand_from show" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand config; and __fish_seen_subcommand_from show" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand config; and __fish_seen_subcommand_from show" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand config; and __fish_seen_subcommand_from show" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand config; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show each value in effect, and the file and line, the variable or the flag that sets it'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand completions" -l home -d 'The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand completions" -l server -d 'The team\'s server, which keeps the history; \'\' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]' -r
complete -c oomdoc -n "__fish_oomdoc_using_subcommand completions" -l color -d 'Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]' -r -f -a "auto\t''
always\t''
never\t''"
complete -c oomdoc -n "__fish_oomdoc_using_subcommand completions" -l config -d 'Read this settings file instead of the project\'s oomdoc.toml [default: $OOMDOC_CONFIG]' -r -F
complete -c oomdoc -n "__fish_oomdoc_using_subcommand completions" -l no-config -d 'Read no settings file; the same as OOMDOC_NO_CONFIG=1'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand completions" -s h -l help -d 'Print help'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and not __fish_seen_subcommand_from analyze digest merge run triage serve fix estimate explain rules history mcp config completions help" -f -a "analyze" -d 'Say what ran out, where, in which phase and with which figures, and prove it'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and not __fish_seen_subcommand_from analyze digest merge run triage serve fix estimate explain rules history mcp config completions help" -f -a "digest" -d 'Read the logs of this node into a small digest, which `merge` joins with those of other nodes'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and not __fish_seen_subcommand_from analyze digest merge run triage serve fix estimate explain rules history mcp config completions help" -f -a "merge" -d 'Join the digests of many nodes into the report that one analysis over all their logs would give'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and not __fish_seen_subcommand_from analyze digest merge run triage serve fix estimate explain rules history mcp config completions help" -f -a "run" -d 'Run a command and record its memory, so that its end can be explained without the kernel\'s log'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and not __fish_seen_subcommand_from analyze digest merge run triage serve fix estimate explain rules history mcp config completions help" -f -a "triage" -d 'Analyze in a pipeline: report files, an annotation, the step\'s summary, one comment on the pull or merge request'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and not __fish_seen_subcommand_from analyze digest merge run triage serve fix estimate explain rules history mcp config completions help" -f -a "serve" -d 'Serve the history to a team: pages, an HTTP API, and a bot that answers failed jobs'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and not __fish_seen_subcommand_from analyze digest merge run triage serve fix estimate explain rules history mcp config completions help" -f -a "fix" -d 'Show the configuration change that the report proposes, or make it'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and not __fish_seen_subcommand_from analyze digest merge run triage serve fix estimate explain rules history mcp config completions help" -f -a "estimate" -d 'Say how much memory a job should need on each GPU and host, moment by moment, and what makes it fit'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and not __fish_seen_subcommand_from analyze digest merge run triage serve fix estimate explain rules history mcp config completions help" -f -a "explain" -d 'Explain a word of reports and rules: a cause, kind, phase, figure, lever, fact, or a knob as you spell it'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and not __fish_seen_subcommand_from analyze digest merge run triage serve fix estimate explain rules history mcp config completions help" -f -a "rules" -d 'List, check, test and import rules: what oomdoc knows of the causes of out-of-memory failures'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and not __fish_seen_subcommand_from analyze digest merge run triage serve fix estimate explain rules history mcp config completions help" -f -a "history" -d 'Find earlier incidents, and record what solved them'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and not __fish_seen_subcommand_from analyze digest merge run triage serve fix estimate explain rules history mcp config completions help" -f -a "mcp" -d 'Serve oomdoc\'s tools to assistants that speak the Model Context Protocol, on standard input and output: docs/mcp.md'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and not __fish_seen_subcommand_from analyze digest merge run triage serve fix estimate explain rules history mcp config completions help" -f -a "config" -d 'Show the settings in effect, and where each comes from: docs/configuration.md'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and not __fish_seen_subcommand_from analyze digest merge run triage serve fix estimate explain rules history mcp config completions help" -f -a "completions" -d 'Write the completions of a shell: `oomdoc completions bash > ~/.local/share/bash-completion/completions/oomdoc`'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and not __fish_seen_subcommand_from analyze digest merge run triage serve fix estimate explain rules history mcp config completions help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from serve" -f -a "token" -d 'Make, list and revoke the tokens that identify people and programs'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from rules" -f -a "list" -d 'List the rules of causes and where they come from'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from rules" -f -a "new" -d 'Write a commented rule to start from, and a message of your own program that it recognises'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from rules" -f -a "show" -d 'Show a rule: what it says, what speaks for and against it, what it changes'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from rules" -f -a "check" -d 'Find rules that can never fire, name what is not known, or fail their own examples'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from rules" -f -a "test" -d 'Run the examples of rules through the whole analysis'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from rules" -f -a "fit" -d 'Fit the weights of signals and the confidence of diagnoses to labelled incidents, and show how well that does on others'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from rules" -f -a "import" -d 'Check your rules and keep them: from then on every analysis uses them'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from rules" -f -a "remove" -d 'Remove an imported rule; a shipped rule that it replaced applies again'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from history" -f -a "list" -d 'List incidents, newest first'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from history" -f -a "search" -d 'Find incidents by words, fields, figures and times: phase:optimizer_step requested:>2GiB "pinned memory"'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from history" -f -a "show" -d 'Show an incident as it was analysed, what was tried and what people say of it'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from history" -f -a "similar" -d 'Find incidents similar to another one, or to that of a log, and show what they share'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from history" -f -a "stats" -d 'Count incidents by kind, cause, phase, model, framework and week'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from history" -f -a "resolve" -d 'Record what was tried after an incident and how it went: the next diagnosis takes it into account'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from history" -f -a "tag" -d 'Name an incident\'s job and tag it, so that `job:` and `tag:` find it'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from history" -f -a "outcomes" -d 'Show which changes worked here and how that affects diagnoses, or forget it'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from history" -f -a "export" -d 'Write incidents and outcomes as lines of JSON: for another home, or for OpenSearch and Elasticsearch'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from history" -f -a "import" -d 'Import what another history exported; incidents that are already here are not duplicated'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from history" -f -a "backup" -d 'Write everything to one file, while others go on writing'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from history" -f -a "restore" -d 'Restore a backup into an empty home, after checking all of it'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from history" -f -a "prune" -d 'Remove old incidents'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from history" -f -a "reindex" -d 'Rebuild everything derived from the incidents: the index, the groups, and what analyses are told'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from history" -f -a "verify" -d 'Read and check every record and the index'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from history" -f -a "compact" -d 'Free the space that removed incidents still take'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from history" -f -a "salvage" -d 'Save whatever can still be read of a damaged history; the damaged file is kept'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from history" -f -a "drain" -d 'Move waiting incidents from the spool into the store, or hand them to the server, and bring the index up to date'
complete -c oomdoc -n "__fish_oomdoc_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "show" -d 'Show each value in effect, and the file and line, the variable or the flag that sets it'
