import { markedFunction, quoted } from './shell-scripts.ts'

/**
 * The script of `sessionKillScript` checks each 100 ms whether the processes have ended. After the first number of checks it sends SIGKILL; after
 * the second number it stops waiting.
 */
const [PATIENCE, MOST] = [20, 40]

/**
 * Makes a shell script that ends all processes of a Unix session, such as those of an interactive shell. Each job of such a shell has its own
 * process group, so killing the shell's group is not enough, and what called `setsid` has another session, and the marker of this one. The script also
 * continues stopped jobs, which handle a signal only then. The script reads a mark (a text of the caller's choice) from stdin, and prints the mark with
 * `dead`, or with `alive` where processes live on, or where nobody can look for the marker.
 * @param session the id of the session: the process id of its leader
 * @param marker the value of the environment variable `MARKER` in all that the session has started
 */
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
n=0
while [ -n "$(left)" ]; do
  n=$((n + 1))
  if [ $n -ge ${PATIENCE} ]; then send KILL; fi
  if [ $n -ge ${MOST} ]; then echo "$mark alive"; exit; fi
  sleep 0.1
done
if [ -r /proc/self/environ ]; then echo "$mark dead"; else echo "$mark alive"; fi
`
}
