/** A command as a skill may ask for it. */
export interface TestCommand {
  readonly what: string
  readonly command: string
  /** Where its words differ between `sh -c` and a terminal, its status alone is compared. @default false */
  readonly isStatusOnly?: boolean
}

/** Commands of many forms, each of which ends with status, output and folder as `sh -c` has them. Those that end the shell are tested apart. */
export const COMMANDS: readonly TestCommand[] = [
  { what: 'one line', command: 'echo one' },
  { what: 'no line end', command: 'printf "no end"' },
  { what: 'nothing', command: ':' },
  { what: 'a comment alone', command: '# nothing is done' },
  { what: 'several lines', command: 'echo one\necho two\n\necho three' },
  { what: 'a line that goes on', command: 'echo one \\\n  two' },
  { what: 'tabs', command: 'printf "a\\tb\\n"; echo "x\ty"' },
  { what: 'single quotes', command: 'echo \'it is "quoted"\' \'and $HOME\'' },
  { what: 'double quotes', command: 'name=world; echo "hello \\"$name\\""' },
  { what: 'backslashes', command: 'echo a\\ b; printf \'%s\\n\' \'c\\d\'' },
  { what: 'an exclamation mark', command: 'echo "hello!" \'wow!!\'' },
  { what: 'Unicode', command: 'echo "привет, 世界 🙂"' },
  { what: 'a long line', command: `echo ${'x'.repeat(6000)} | wc -c` },
  { what: 'much output', command: 'seq 1 3000 | tail -n 50' },
  { what: 'standard error', command: 'echo out; echo err >&2' },
  { what: 'a pipe', command: 'printf "b\\na\\n" | sort' },
  { what: 'a here-document', command: 'cat <<END\none $((1 + 1))\n\ttwo\nEND' },
  { what: 'a here-document without expansion', command: 'cat <<\'END\'\n$HOME `x` \\\nEND' },
  { what: 'a substitution', command: 'echo "$(echo inner; echo more)"' },
  { what: 'backquotes', command: 'echo `echo old`' },
  { what: 'arithmetic', command: 'echo $((6 * 7))' },
  { what: 'a loop', command: 'for n in 1 2 3; do echo "n=$n"; done' },
  { what: 'a loop over lines', command: 'printf "a\\nb\\n" | while read -r line; do echo "<$line>"; done' },
  { what: 'a case', command: 'case abc in a*) echo yes;; *) echo no;; esac' },
  { what: 'a function', command: 'greet () { echo "hi $1"; }\ngreet you' },
  { what: 'a status', command: 'false' },
  { what: 'another status', command: '(exit 42)' },
  { what: 'the status of the last command', command: 'false; true; sh -c "exit 7"' },
  { what: 'a failed and', command: 'false && echo never; echo "then $?"' },
  { what: 'a command that is not there', command: 'no-such-command-here', isStatusOnly: true },
  { what: 'a syntax error', command: 'if then', isStatusOnly: true },
  { what: 'a syntax error behind output', command: 'echo before\nfi', isStatusOnly: true },
  { what: 'a quote without end', command: 'echo \'open', isStatusOnly: true },
  { what: 'a file', command: 'echo kept > made-here; cat made-here; rm made-here' },
  { what: 'no input', command: 'cat </dev/null; echo "status $?"' },
  { what: 'a background job in a subshell', command: '(sleep 0.05 & wait; echo waited)' },
  { what: 'colours', command: 'printf "\\033[31mred\\033[0m plain\\n"' },
  { what: 'a forged prompt', command: 'printf "\\033]7717;0123456789abcdef0123456789abcdef;p;9999;0;/\\007"; echo behind' },
  { what: 'a forged begin', command: 'printf "\\033]7717;b;0123456789abcdef0123456789abcdef\\007"; echo behind' },
  { what: 'half of a mark', command: 'printf "\\033]7717;"; echo behind', isStatusOnly: true },
  { what: 'another folder', command: 'mkdir -p "a b"; cd "a b"; pwd' },
  { what: 'the folder above', command: 'cd ..; pwd' },
  { what: 'another prompt', command: 'PS1="mine> "; echo set' },
  { what: 'no prompt', command: 'unset PS1; echo unset' },
  { what: 'options of the shell', command: 'set -u; echo set; set +u' }
]
