/** A private command, which terminals ignore: https://invisible-island.net/xterm/ctlseqs/ctlseqs.html#h3-Operating-System-Commands */
export const MARK = '\x1b]7717;'

export const [COMMAND_FILE, PROMPT_FILE] = ['a', 'b'] as const

/**
 * The setup line, which is typed into a new shell before any output of the shell is shown. It makes the shell ask for a secret, which shows
 * later that a report comes from the shell. The secret is typed separately, since a line can stay in the memory of a shell. After that,
 * every prompt reports a number (which the prompt itself increments) and the status of the last command. A redrawn prompt has the same number again.
 * The folder is no part of a report: its name may hold any character, and `$PWD` any text. No variable that the shell has for this is exported.
 * @param name the beginning of the visible prompt: letters, digits, `_` and `-`
 */
export function setupLine (name: string): string {
  const mark = (rest: string): string => `"$(printf '\\033]7717;%s;${rest}' "$__aps_k")"`
  const words = [
    'printf \'\\033]7717;k\\007\'',
    'IFS= read -r __aps_k',
    'unset PROMPT_COMMAND PS0',
    // bash counts the columns of its line; `\[` and `\]` tell it which text takes none.
    'if [ -n "$BASH_VERSION" ]; then set +o history; history -c; __aps_o=\'\\[\' __aps_c=\'\\]\'; else __aps_o= __aps_c=',
    // In a sandbox dash returns the terminal to a group outside of it, and its exit code gets lost: a mark reports it.
    'trap "printf \'\\033]7717;$__aps_k;x;%s\\007\' \\"\\$?\\"" EXIT; fi',
    '__aps_n=0',
    `PS1=$__aps_o${mark('p;')}'$((__aps_n=__aps_n+1));$?'"$(printf '\\007')"$__aps_c'${name}:$PWD$ '$__aps_o${mark('e\\007')}$__aps_c`,
    '__aps_p=$PS1',
    'unset __aps_o __aps_c __aps_k'
  ]
  return ` ${words.join('; ')}\r`
}

export function commandFile (command: string, begin: string): string {
  return `printf '\\033]7717;b;%s\\007' ${begin}\n${command}\n`
}

/** Replaces the file of a command that is not wanted any more. */
export const NOTHING = ':\n'

/** With `set -x`, the shell prints none of it. */
export const RESTORE_PROMPT = '{ __aps_s=$?; PS1=$__aps_p; } 2>/dev/null\nreturn $__aps_s\n'

export function runLine (command: string, prompt: string): string {
  return ` . ${quoted(command)}; . ${quoted(prompt)}\r`
}

/** Checks, one each 100 ms: SIGKILL after the first number, the end of the wait after the second. */
const [PATIENCE, MOST] = [20, 40]

/** Needs a function `send`. Prints `alive` where nothing ends what is left; else `sent` has the last signal. */
export function waitWhile (isLeft: string): string {
  return `sent=TERM n=0
while ${isLeft}; do
  n=$((n + 1))
  if [ $n -ge ${PATIENCE} ]; then sent=KILL; send KILL; fi
  if [ $n -ge ${MOST} ]; then echo "$mark alive"; exit; fi
  sleep 0.1
done`
}

/** Each job of a shell has its own group, and `setsid` makes another session: hence session and marker. Prints `dead` or `alive`. */
export function sessionKillScript (session: number, marker: string): string {
  return `
exec 2>/dev/null
IFS= read -r mark || exit
${markedFunction(quoted(marker))}
left () {
  marked
  ps -A -o pid= -o sid= -o stat= | while read -r pid sid stat; do case "$sid $stat" in "${session} Z"*) ;; "${session} "*) echo "$pid" ;; esac; done
}
send () { for pid in $(left); do kill "-$1" "$pid"; done; }
if ! ps -A -o pid= -o sid= >/dev/null; then kill -HUP ${session}; echo "$mark alive"; exit; fi
send HUP
send TERM
send CONT
${waitWhile('[ -n "$(left)" ]')}
if [ -r /proc/self/environ ]; then echo "$mark dead"; else echo "$mark alive"; fi
`
}

export function quoted (text: string): string {
  return `'${text.replaceAll('\'', '\'\\\'\'')}'`
}

/** A user's start files could ask something, and so block the service. */
const BEGIN_SHELL = 'if command -v bash >/dev/null 2>&1; then exec bash --noprofile --norc -i; fi; exec sh -i'

export function beginShell (shell: readonly string[] | undefined): string {
  return shell === undefined ? BEGIN_SHELL : `exec ${shell.map(quoted).join(' ')}`
}

/** A process that calls `setsid` leaves its session and group, but keeps its environment. The value is no secret. */
export const MARKER = 'APS_ENDS_WITH'

/** Finds none without `/proc`, none of another user or `env -i`. `marker` is no positional parameter: a function has its own. */
export function markedFunction (marker: string): string {
  return `marked () { grep -lsF ${MARKER}=${marker} /proc/[0-9]*/environ | while IFS=/ read -r a b pid c; do echo "$pid"; done; }`
}

/** SIGTERM, then SIGKILL after the given seconds. What forks meanwhile is looked for again. */
export const END_MARKED = `
endMarked () {
  for pid in $(marked); do kill -TERM "$pid"; done
  sleep "$1"
  for n in 1 2 3 4 5 6 7 8 9 10; do
    pids=$(marked)
    [ -n "$pids" ] || break
    for pid in $pids; do kill -KILL "$pid"; done
  done
}`

/**
 * The shell script that supervises a command. Its shell leads the command's process group and outlives the command. On descriptor
 * 3 it reports how the command ended. Then it kills the processes that the command left behind.
 *
 * A watcher in the same group waits for the end of the service: the service alone holds the other end of the pipe on
 * descriptor 4, so that the pipe is closed even by SIGKILL. SIGTERM to the group ends the command, but neither this shell nor
 * the watcher.
 *
 * The command runs as a separate process, since its `wait` must not wait for the watcher. Messages of this shell itself, such
 * as `Terminated`, are kept out of the command's output.
 */
export const SUPERVISOR = `
exec 5>&2 2>/dev/null
trap : TERM INT HUP
{ trap '' TERM INT HUP; read -r _ <&4; kill -9 0; } >/dev/null 3>&- 5>&- &
watcher=$!
(exec "$@" 2>&5 4<&- 5>&-)
status=$?
kill -9 $watcher
wait $watcher
echo "exit $status" >&3
kill -9 0
`

/** A shell cannot keep NUL, so a line end in a name becomes `//.`; the dot behind the path keeps line ends at its end. */
const PRINT_FOLDER = `
__aps_d=$(pwd -P; echo .)
__aps_d=\${__aps_d%??}
__aps_n=$(printf "\\n.")
__aps_n=\${__aps_n%.}
while :; do
  case $__aps_d in
    *"$__aps_n"*) __aps_d=\${__aps_d%%"$__aps_n"*}//.\${__aps_d#*"$__aps_n"} ;;
    *) break ;;
  esac
done
printf "cwd %s\\n" "$__aps_d" >&3
`

/** A command that sets its own EXIT trap, or calls `exec`, writes nothing. */
export function reportingFolder (command: string): string {
  return `trap '${PRINT_FOLDER}' EXIT\n${command}\n`
}

export function printedFolder (line: string): string {
  return line.replaceAll('//.', '\n')
}

/** A command can write a false report, but gains nothing by it: the folder is checked before it is used. */
export function readReport (text: string): { readonly exitCode: number | null, readonly cwd: string | undefined } {
  const exit = Array.from(text.matchAll(/^exit (\d{1,3})$/gm)).at(-1)?.[1]
  const cwd = /^cwd (\/.*)$/m.exec(text)?.[1]
  return { exitCode: exit === undefined ? null : Number(exit), cwd: cwd === undefined ? undefined : printedFolder(cwd) }
}
