import { quoted, reportingFolder } from '../shell-scripts.ts'

/** How often a remote kill looks, each 100 ms, before it sends SIGKILL, and before it gives up. */
const [PATIENCE, MOST] = [20, 40]

/**
 * Keeps a command on another machine: the leader of its process group, which sshd makes for each command. It tells its number
 * before, and behind it the folder in which the command has ended.
 *
 * What it says has a mark, which comes by its input: what stands in a command line, any process of the machine can read, and
 * the command could say the same. The command itself is a process of its own, and tells its folder on descriptor 3.
 *
 * The watcher waits for the end of the input, which comes with the end of the service or of the connection. It ends the group
 * then, by SIGKILL what is left after 3 s. SIGTERM to the group ends the command, and none of these shells. Where sshd makes
 * no groups, it ends this shell alone. What these shells have to say themselves is no output of the command.
 *
 * Whoever reads the report stops at its end, and not when it is closed: what the command left behind may hold it.
 */
const SUPERVISOR = `
exec 4>&1 5<&0 6>&2 </dev/null 2>/dev/null
IFS= read -r mark <&5 || exit
if [ -n "$1" ] && ! cd -- "$1"; then echo "$mark begin nowhere"; exit 1; fi
trap : TERM INT HUP
trap gone=1 USR1
{
  trap "" TERM INT HUP USR1
  read -r _ <&5
  kill -USR1 $$
  kill -TERM -$$
  sleep 3
  kill -KILL -$$ || kill -KILL $$
} >/dev/null 4>&- 6>&- &
watcher=$!
echo "$mark begin $$"
{
  trap : TERM INT HUP
  (exec /bin/sh -c "$2" 3>&1 >&4 2>&6 4>&- 5<&- 6>&-)
  echo "exit $?"
} | {
  trap "" TERM INT HUP
  while IFS= read -r line; do
    case $line in
      "cwd "*) folder=\${line#cwd } ;;
      "exit "*) code=\${line#exit }; break ;;
    esac
  done
  printf "%s end %s\\n" "$mark" "$folder"
  exit "\${code:-255}"
}
code=$?
[ -n "$gone" ] || kill -KILL $watcher
exit $code
`

/** A command as a login shell of another machine gets it; its input begins with a line that has the mark, and stays open. */
export function keptCommand (command: string, cwd = ''): string {
  return `exec /bin/sh -c ${quoted(SUPERVISOR)} sh ${quoted(cwd)} ${quoted(reportingFolder(command))}`
}

/**
 * Ends a process group of another machine, and says whether it is gone: `dead TERM`, `dead KILL` or `alive`, behind the mark
 * that its input has. One whose number is not that of its group was not begun by an sshd that makes groups; nobody can say
 * then what else has to end. What has ended and was not looked at by its parent yet runs no more: an idle init takes seconds
 * to look.
 */
export function killingScript (pid: number): string {
  const script = `
exec 2>/dev/null
IFS= read -r mark || exit
running () {
  kill -0 -${pid} || return 1
  all=$(ps -A -o pgid= -o stat=) || return 0
  echo "$all" | grep -q '^ *${pid}  *[^Z ]'
}
if kill -0 ${pid} && ! kill -0 -${pid}; then kill -KILL ${pid}; echo "$mark alive"; exit; fi
kill -TERM -${pid}
sent=TERM n=0
while running; do
  n=$((n + 1))
  if [ $n -eq ${PATIENCE} ]; then sent=KILL; kill -KILL -${pid}; fi
  if [ $n -ge ${MOST} ]; then echo "$mark alive"; exit; fi
  sleep 0.1
done
echo "$mark dead $sent"
`
  return `exec /bin/sh -c ${quoted(script)}`
}
