import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const RULES = '/etc/sudoers.d'

/** Why no user with `sudo` can be made here; `false` when one can. */
export const noSudoer = process.getuid?.() === 0 ? missing(['sudo', 'useradd', 'userdel', 'chpasswd']) : 'only root can add a user'

/** A user of this machine who may run `id` as root after a password. */
export interface Sudoer {
  readonly name: string
  readonly password: string
  remove (): void
}

/** Adds a user to this machine, with a rule for `sudo`. */
export function addSudoer (): Sudoer {
  const name = `aps${process.pid}`
  const password = randomBytes(8).toString('hex')
  execFileSync('useradd', ['--create-home', '--shell', '/bin/sh', name])
  const rule = join(RULES, name)
  const remove = (): void => {
    rmSync(rule, { force: true })
    spawnSync('userdel', ['--remove', '--force', name], { stdio: 'ignore' })
  }
  try {
    execFileSync('chpasswd', { input: `${name}:${password}\n`, stdio: ['pipe', 'ignore', 'pipe'] })
    writeFileSync(rule, `${name} ALL=(root) PASSWD: /usr/bin/id\n`, { mode: 0o440 })
    return { name, password, remove }
  } catch (error) {
    remove()
    throw error
  }
}

function missing (programs: readonly string[]): string | false {
  const absent = programs.filter(name => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0)
  return absent.length === 0 ? false : `${absent.join(', ')} cannot be found`
}
