/** A text as one word of a shell. */
export function quoted (text: string): string {
  return `'${text.replaceAll('\'', '\'\\\'\'')}'`
}

/** Begins a shell that reads no files of anybody: prompts of others, and what they run, are what leaves a program waiting. */
const BEGIN_SHELL = 'if command -v bash >/dev/null 2>&1; then exec bash --noprofile --norc -i; fi; exec sh -i'

/** A shell's words as one command of another shell, which it takes the place of. */
export function beginShell (shell: readonly string[] | undefined): string {
  return shell === undefined ? BEGIN_SHELL : `exec ${shell.map(quoted).join(' ')}`
}

/**
 * The shell that keeps a command. It is the leader of the command's process group and outlives the command. On descriptor 3
 * it tells how the command ended, and it ends what the command left behind.
 *
 * A watcher in the same group waits for the end of the service: the service alone holds the other end of the pipe on
 * descriptor 4, so that the pipe is closed even by SIGKILL. SIGTERM to the group ends the command, but neither this shell nor
 * the watcher.
 *
 * The command is a process of its own and not this shell, since its `wait` must not wait for the watcher. Words of this
 * shell, such as `Terminated`, are no output of the command.
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

/** A command that tells on descriptor 3 where it ends. A command that sets a trap of its own, or becomes another program, tells nothing. */
export function reportingFolder (command: string): string {
  return `trap 'printf "cwd %s\\n" "$(pwd -P)" >&3' EXIT\n${command}\n`
}

/** How a command ended, in the words of its two scripts. */
export interface Report {
  readonly exitCode: number | null
  readonly cwd: string | undefined
}

/** Reads descriptor 3. The command can write there, too, but gains nothing by it: what it says is checked before it is used. */
export function readReport (text: string): Report {
  const exit = Array.from(text.matchAll(/^exit (\d{1,3})$/gm)).at(-1)?.[1]
  return { exitCode: exit === undefined ? null : Number(exit), cwd: /^cwd (\/.*)$/m.exec(text)?.[1] }
}
