import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'

/** What makes and removes users, and lets them become root. */
const PROGRAMS = ['useradd', 'userdel', 'chpasswd', 'sudo']

const missing = PROGRAMS.filter(name => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0)

/** Why no user can be made who may use sudo; `false` when one can. */
export const noSudoUser = process.getuid?.() !== 0
  ? 'only root can make a user'
  : missing.length > 0 ? `${missing.join(', ')} are not installed` : existsSync('/etc/sudoers.d') ? false : '/etc/sudoers.d is not there'

/** A user of this machine who may do anything with sudo, for the password. */
export interface SudoUser {
  readonly name: string
  readonly password: string
  remove (): Promise<void>
}

/** Makes such a user, without a home. */
export async function createSudoUser (): Promise<SudoUser> {
  const name = `aps-test-${randomBytes(4).toString('hex')}`
  const password = randomBytes(12).toString('hex')
  execFileSync('useradd', ['--no-create-home', '--home-dir', '/tmp', '--shell', '/bin/sh', name])
  execFileSync('chpasswd', { input: `${name}:${password}\n` })
  const rights = `/etc/sudoers.d/${name}`
  await writeFile(rights, `${name} ALL=(ALL) ALL\n`, { mode: 0o440 })
  return {
    name,
    password,
    async remove () {
      await rm(rights, { force: true })
      // Its shell may end a moment later.
      spawnSync('userdel', ['--force', name])
    }
  }
}
