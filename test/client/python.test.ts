import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { startService } from '../helpers/service.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

// A client in another language, by a generator of others, from the description of the prompts.

const run = promisify(execFile)

/** The generator, which brings what its clients need, too. */
const GENERATOR = 'openapi-python-client==0.29.1'

/** Where it stays from one run of the tests to the next. */
const PACKAGES = resolve('.build/python', GENERATOR)

/** How long packages may take to come, in ms. */
const PATIENCE = 180_000

const REGISTRATIONS = { 'templates:team:greet': { description: 'Greets somebody', userPrompt: 'Say hello to {{variables.name}}, {{variables.times}} times', parameters: [{ name: 'name', type: 'string' }, { name: 'times', type: 'integer', default: 2 }] } }

const PROGRAM = `
import sys
from prompts_client import Client
from prompts_client.api.prompts import render_team_greet
from prompts_client.models import RenderTeamGreetBody, VariablesTeamGreet

body = RenderTeamGreetBody(variables=VariablesTeamGreet(name='Ada', times=3))
print(render_team_greet.sync(client=Client(base_url=sys.argv[1]), body=body).rendered_prompt)
`

async function install (): Promise<void> {
  if (existsSync(PACKAGES)) return
  // What is only half there would be taken for all of it.
  const partial = `${PACKAGES}.partial`
  await rm(partial, { recursive: true, force: true })
  await run('python3', ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', partial, GENERATOR], { timeout: PATIENCE })
  await rename(partial, PACKAGES)
}

describe('A client in Python that is generated from /api/openapi/prompts.json', () => {
  it('renders a prompt', { timeout: PATIENCE * 2 }, async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    const missing = await install().then(() => '', (error: Error) => error.message)
    if (missing !== '') return t.skip(`${GENERATOR} cannot be installed: ${missing.split('\n').find(line => line.trim() !== '') ?? ''}`)
    const environment = { PATH: process.env['PATH'], HOME: folder.path, PYTHONPATH: `${PACKAGES}:${folder.path}` }
    const service = await startService(t, REGISTRATIONS, { LOG_LEVEL: 'silent' })
    const url = await service.listen()
    await writeFile(join(folder.path, 'prompts.json'), await (await fetch(`${url}/api/openapi/prompts.json`)).text())
    await run('python3', ['-m', 'openapi_python_client', 'generate', '--path', 'prompts.json', '--meta', 'none', '--output-path', 'prompts_client'], { cwd: folder.path, env: environment })
    const { stdout } = await run('python3', ['-c', PROGRAM, url], { cwd: folder.path, env: environment })
    assert.equal(stdout, 'Say hello to Ada, 3 times\n')
  })
})
