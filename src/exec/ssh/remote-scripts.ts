import { END_MARKED, MARKER, markedFunction, quoted, reportingFolder } from '../shell-scripts.ts'

/**
 * The script of `killingScript` checks each 100 ms whether the remote processes have ended. After the first number of checks it sends SIGKILL;
 * after the second number it stops waiting.
 */
const [PATIENCE, MOST] = [20, 40]

/**
 * The shell script that supervises a command on a remote machine. Its shell leads the process group that sshd makes for each
 * command. Before the command it prints its process id; after the command it prints the folder in which the command ended.
 *
 * These lines begin with a secret mark, which the shell reads from its stdin. The mark is not in the command line, since any
 * process of the machine can read that. The command runs as a separate process, and reports its folder on descriptor 3.
 *
 * A watcher (a subshell in the same group) waits for the end of stdin, which comes with the end of the service or of the connection.
 * Then the watcher sends SIGTERM to the group and to all that has the command's marker, and SIGKILL 3 s later. SIGTERM to the group ends the
 * command, but none of these shells.
 * Where sshd makes no groups, the watcher kills the supervising shell alone. Messages of the shells are kept out of the command's output.
 *
 * The reader of the report stops at the report's last line, and does not wait until descriptor 3 is closed: a process that the
 * command left behind may keep it open.
 */
const SUPERVISOR = `
exec 4>&1 5<&0 6>&2 </dev/null 2>/dev/null
IFS= read -r mark <&5 || exit
if [ -n "$1" ] && ! cd -- "$1"; then echo "$mark begin nowhere"; exit 1; fi
trap : TERM INT HUP
trap gone=1 USR1
marker=$3
${markedFunction('"$marker"')}
${END_MARKED}
{
  trap "" TERM INT HUP USR1
  read -r _ <&5
  kill -USR1 $$
  kill -TERM -$$
  endMarked 3
  kill -KILL -$$ || kill -KILL $$
} >/dev/null 4>&- 6>&- &
watcher=$!
echo "$mark begin $$"
{
  trap : TERM INT HUP
  (export ${MARKER}="$marker"; exec /bin/sh -c "$2" 3>&1 >&4 2>&6 4>&- 5<&- 6>&-)
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

/**
 * Makes the command line that runs a command on a remote machine under supervision. The first line of the supervising script's stdin has to be the
 * mark (a secret text that begins each of its reports). Stdin has to stay open: when stdin ends, the script ends the command.
 * @param marker the value of the environment variable `MARKER` in all that the command starts
 */
export function keptCommand (command: string, marker: string, cwd = ''): string {
  return `exec /bin/sh -c ${quoted(SUPERVISOR)} sh ${quoted(cwd)} ${quoted(reportingFolder(command))} ${quoted(marker)}`
}

/**
 * Makes a shell script that ends a process group on a remote machine, and all that has its marker. The script reads a mark (a secret text) from stdin,
 * and prints the mark with `dead TERM`, `dead KILL` or `alive`. A process that does not lead its group was begun by an sshd that makes no groups: then
 * nobody can say which other processes have to end. A zombie (a process that has ended, but whose parent has not collected it) counts as dead, since an
 * idle init process takes seconds to collect it.
 */
export function killingScript (pid: number, marker: string): string {
  const script = `
exec 2>/dev/null
IFS= read -r mark || exit
${markedFunction(quoted(marker))}
send () { kill "-$1" -${pid}; for each in $(marked); do kill "-$1" "$each"; done; }
running () {
  [ -z "$(marked)" ] || return 0
  kill -0 -${pid} || return 1
  all=$(ps -A -o pgid= -o stat=) || return 0
  echo "$all" | grep -q '^ *${pid}  *[^Z ]'
}
if kill -0 ${pid} && ! kill -0 -${pid}; then kill -KILL ${pid}; send KILL; echo "$mark alive"; exit; fi
send TERM
sent=TERM n=0
while running; do
  n=$((n + 1))
  if [ $n -ge ${PATIENCE} ]; then sent=KILL; send KILL; fi
  if [ $n -ge ${MOST} ]; then echo "$mark alive"; exit; fi
  sleep 0.1
done
echo "$mark dead $sent"
`
  return `exec /bin/sh -c ${quoted(script)}`
}
