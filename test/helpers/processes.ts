import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/** Whether a process runs: one that has ended and whose parent has not looked does not. */
export function isAlive (pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** The number that a command has written to a file. */
export async function readPid (path: string): Promise<number> {
  return Number(await readFile(path, 'utf8'))
}

/** Waits for the end of a process; gives how long that took, in ms. @throws when it runs after 10 s */
export async function untilDead (pid: number): Promise<number> {
  const started = performance.now()
  while (isAlive(pid)) {
    if (performance.now() - started > 10_000) throw new Error(`process ${pid} runs after 10 s`)
    await sleep(10)
  }
  return performance.now() - started
}

/** The command line of every process of this machine that can be seen, its words with blanks between them. */
export async function commandLines (): Promise<ReadonlyArray<{ readonly pid: number, readonly words: string }>> {
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name)).map(Number)
  const lines = await Promise.all(pids.map(async pid => ({ pid, words: (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' ').trim() })))
  return lines.filter(({ words }) => words !== '')
}
