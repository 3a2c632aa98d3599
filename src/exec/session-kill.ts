/** How many checks, one each 100 ms, the script makes before it sends SIGKILL, and before it gives up. */
const [PATIENCE, MOST] = [20, 40]

/**
 * A script that ends all processes of a Unix session. It prints the mark that it reads from stdin, and then `dead` or `alive`. Every job of an
 * interactive shell has a process group of its own, so killing the shell's group is not enough. A stopped job handles a signal only once it is continued.
 * @param session the id of the session: the process id of its leader
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
