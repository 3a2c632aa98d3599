import { quoted, reportingFolder } from '../shell-scripts.ts'

/** How often a remote kill looks, each 100 ms, before it sends SIGKILL, and before it gives up. */
const [PATIENCE, MOST] = [20, 40]

/**
 * The shell that keeps a command on another machine. It is the leader of the process group that sshd makes for each command.
 * Before the command it tells its number; behind the command it tells the folder in which the command ended.
 *
 * Its words have a mark, which comes by its input. Any process of the machine can read a command line, so a mark in it could
 * be copied by the command. The command itself is a process of its own, and tells its folder on descriptor 3.
 *
 * The watcher waits for the end of the input, which comes with the end of the service or of the connection. Then it ends the
 * group, and after 3 s it sends SIGKILL to what is left. SIGTERM to the group ends the command, but none of these shells.
 * Where sshd makes no groups, the watcher ends this shell alone. Words of these shells are no output of the command.
 *
 * The reader of the report stops at the report's end, and does not wait until it is closed: a process that the command left
 * behind may hold it.
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

/** A command as a login shell of another machine gets it. Its input begins with a line that has the mark, and stays open. */
export function keptCommand (command: string, cwd = ''): string {
  return `exec /bin/sh -c ${quoted(SUPERVISOR)} sh ${quoted(cwd)} ${quoted(reportingFolder(command))}`
}

/**
 * Ends a process group of another machine, and says whether it is gone: `dead TERM`, `dead KILL` or `alive`, behind the mark
 * that its input has. A process that is not the leader of its group was begun by an sshd that makes no groups; then nobody
 * can say what else has to end. A process that has ended, but was not collected by its parent yet, counts as gone: an idle
 * init takes seconds to collect it.
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
