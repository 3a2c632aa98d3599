/** A text as one word of a shell. */
export function quoted (text: string): string {
  return `'${text.replaceAll('\'', '\'\\\'\'')}'`
}

/**
 * Keeps a command: the leader of its process group, which outlives it, tells on descriptor 3 how it ended, and ends what it
 * left behind.
 *
 * The watcher is in the group, too. It waits for the end of the service: descriptor 4 is a pipe of which the service alone
 * has the other end, so that it is closed even by SIGKILL. SIGTERM to the group ends the command, and neither of the two.
 *
 * The command is a process of its own, and not this shell: its `wait` must not wait for the watcher. What this shell has to say
 * itself, such as `Terminated`, is no output of the command.
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

/** A command that tells on descriptor 3 where it ends; one that has a trap of its own, or becomes another program, does not. */
export function reportingFolder (command: string): string {
  return `trap 'printf "cwd %s\\n" "$(pwd -P)" >&3' EXIT\n${command}\n`
}

/** How a command ended, in the words of its two scripts. */
export interface Report {
  readonly exitCode: number | null
  readonly cwd: string | undefined
}

/** Reads descriptor 3. The command can write there too, and gains nothing by it: what it says is checked before it is used. */
export function readReport (text: string): Report {
  const exit = Array.from(text.matchAll(/^exit (\d{1,3})$/gm)).at(-1)?.[1]
  return { exitCode: exit === undefined ? null : Number(exit), cwd: /^cwd (\/.*)$/m.exec(text)?.[1] }
}
