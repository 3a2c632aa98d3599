/** How often the script looks, each 100 ms, before it sends SIGKILL, and before it gives up. */
const [PATIENCE, MOST] = [20, 40]

/**
 * A script that ends all processes of a session of Unix, and says whether they are gone: `dead` or `alive`, behind the mark that its input has. In an
 * interactive shell every job has a process group of its own, so that the group of the shell is not enough. A stopped job has to go on to hear of it.
 * @param session the number of the process that leads it
 */
export function sessionKillScript (session: number): string {
  return `
exec 2>/dev/null
IFS= read -r mark || exit
left () { ps -A -o pid= -o sid= -o stat= | while read -r pid sid stat; do case "$sid $stat" in "${session} Z"*) ;; "${session} "*) echo "$pid" ;; esac; done; }
send () { for pid in $(left); do kill "-$1" "$pid"; done; }
if ! ps -A -o pid= -o sid= >/dev/null; then kill -HUP ${session}; echo "$mark alive"; exit; fi
send HUP
send CONT
n=0
while [ -n "$(left)" ]; do
  n=$((n + 1))
  if [ $n -eq ${PATIENCE} ]; then send KILL; fi
  if [ $n -ge ${MOST} ]; then echo "$mark alive"; exit; fi
  sleep 0.1
done
echo "$mark dead"
`
}
