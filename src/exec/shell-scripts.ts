/** Quotes a text as one word for a shell. */
export function quoted (text: string): string {
  return `'${text.replaceAll('\'', '\'\\\'\'')}'`
}

/** The command that begins an interactive shell without start files: a user's start files could ask something, and so block the service. */
const BEGIN_SHELL = 'if command -v bash >/dev/null 2>&1; then exec bash --noprofile --norc -i; fi; exec sh -i'

/**
 * Makes the command by which a running shell replaces itself with an interactive shell.
 * @param shell program and arguments of the interactive shell. @default bash, else sh
 */
export function beginShell (shell: readonly string[] | undefined): string {
  return shell === undefined ? BEGIN_SHELL : `exec ${shell.map(quoted).join(' ')}`
}

/**
 * The environment variable that marks what a terminal or a remote command has started. A process that calls `setsid` leaves its session and group, and
 * keeps its environment. The value is no secret: it only has to be another one each time.
 */
export const MARKER = 'APS_ENDS_WITH'

/**
 * The shell function `marked`, which prints the ids of all processes that have a marker. It finds those whose environment the system shows to their
 * user: none without `/proc`, none of another user, and none that was begun without its environment (`env -i`) or hides it (`ssh-agent`).
 * @param marker a word of the shell that gives the marker's value, not a positional parameter: inside of a function that would be the function's own
 */
export function markedFunction (marker: string): string {
  return `marked () { grep -lsF ${MARKER}=${marker} /proc/[0-9]*/environ | while IFS=/ read -r a b pid c; do echo "$pid"; done; }`
}

/**
 * The shell function `endMarked`, which ends all processes that have a marker: by SIGTERM, and by SIGKILL after as many seconds as it is told. What
 * forks meanwhile is looked for again.
 */
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

/**
 * The script that prints the folder in which it is, on one line. A name holds any character but `/` and NUL, which a shell cannot keep: so a line end
 * in it becomes `//.`. The dot behind the path keeps line ends at its end.
 */
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

/**
 * Extends a command so that it writes to descriptor 3, when it ends, the folder in which it is. A command that sets its own EXIT trap, or calls
 * `exec`, writes nothing.
 */
export function reportingFolder (command: string): string {
  return `trap '${PRINT_FOLDER}' EXIT\n${command}\n`
}

/** The path of a folder that `PRINT_FOLDER` has printed. */
export function printedFolder (line: string): string {
  return line.replaceAll('//.', '\n')
}

/** The supervising script's report on how a command ended: the command's exit code, and the folder in which the command ended. */
export interface Report {
  readonly exitCode: number | null
  readonly cwd: string | undefined
}

/**
 * Parses the report on a command's end, from descriptor 3. The command itself can write a false report, but gains nothing by it: the folder is
 * checked before it is used.
 */
export function readReport (text: string): Report {
  const exit = Array.from(text.matchAll(/^exit (\d{1,3})$/gm)).at(-1)?.[1]
  const cwd = /^cwd (\/.*)$/m.exec(text)?.[1]
  return { exitCode: exit === undefined ? null : Number(exit), cwd: cwd === undefined ? undefined : printedFolder(cwd) }
}
