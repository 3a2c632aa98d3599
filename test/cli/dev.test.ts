import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { startAps } from '../helpers/aps.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

describe('aps dev', () => {
  it('renders a prompt again whenever something is saved, says what is new in it, and what is wrong', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('templates/greet.yaml', 'userPrompt: |\n  Hello {{variables.name}},\n  welcome.\n')
    const child = startAps(['dev', '--prompt', 'greet', '-p', 'name=Ada'], { PORT: '0', DRAIN_DELAY_MS: '0' }, folder.path)
    t.after(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    })
    const printed = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const) child[name].on('data', (chunk: Buffer) => { printed[name] += chunk.toString() })
    await waitFor('the prompt', () => printed.stdout.includes('Hello Ada,\nwelcome.\n') || undefined)
    await folder.write('templates/greet.yaml', 'userPrompt: |\n  Hello {{variables.name}},\n  goodbye.\n')
    await waitFor('the difference', () => printed.stdout.includes('-welcome.\n+goodbye.\n') || undefined)
    await folder.write('templates/greet.yaml', 'userPrompt: Hello {{#if variables.name}}\n')
    await waitFor('the mistake', () => /has no \{\{\/if\}\}/.test(printed.stderr) || undefined)
    child.kill('SIGINT')
    const [code] = await once(child, 'exit') as [number]
    assert.equal(code, 0, printed.stderr)
    assert.doesNotMatch(printed.stderr, /opens the console/)
  })
})
