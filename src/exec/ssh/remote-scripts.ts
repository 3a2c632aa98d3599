import { quoted } from '../shell-scripts.ts'

/** How often a remote kill looks, each 100 ms, before it sends SIGKILL, and before it gives up. */
const [PATIENCE, MOST] = [20, 40]

/**
 * A command as a login shell of another machine gets it: it tells the number of its process before, and its folder behind,
 * with a mark that nobody can guess. sshd makes each command the leader of a group of its own.
 */
export function markedCommand (command: string, mark: string, cwd: string | undefined): string {
  const script = [
    'exec </dev/null 3>&1',
    ...(cwd === undefined ? [] : [`cd -- ${quoted(cwd)} 2>/dev/null || { echo '${mark} begin nowhere'; exit 1; }`]),
    `echo "${mark} begin $$"`,
    `trap 'printf "${mark} end %s\\n" "$(pwd -P)" >&3' EXIT`,
    command
  ].join('\n')
  return `exec /bin/sh -c ${quoted(`${script}\n`)}`
}

/**
 * Ends a process group of another machine, and says whether it is gone: `dead TERM`, `dead KILL` or `alive`. One whose number
 * is not that of its group was not begun by an sshd that makes groups; nobody can say then what else has to end. What has
 * ended and was not looked at by its parent yet runs no more: an idle init takes seconds to look.
 */
export function killingScript (pid: number, mark: string): string {
  const script = `
running () {
  kill -s 0 -- -${pid} 2>/dev/null || return 1
  all=$(ps -A -o pgid= -o stat= 2>/dev/null) || return 0
  echo "$all" | grep -q '^ *${pid}  *[^Z ]'
}
group=$(ps -o pgid= -p ${pid} 2>/dev/null | tr -d ' ')
if [ -n "$group" ] && [ "$group" != ${pid} ]; then kill -9 ${pid}; echo '${mark} alive'; exit; fi
kill -s TERM -- -${pid} 2>/dev/null
sent=TERM n=0
while running; do
  n=$((n + 1))
  if [ $n -eq ${PATIENCE} ]; then sent=KILL; kill -s KILL -- -${pid} 2>/dev/null; fi
  if [ $n -ge ${MOST} ]; then echo '${mark} alive'; exit; fi
  sleep 0.1
done
echo "${mark} dead $sent"
`
  return `exec /bin/sh -c ${quoted(script)}`
}
