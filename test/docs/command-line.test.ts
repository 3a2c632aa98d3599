import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { examplesFor, freeExamplePorts } from '../helpers/example-tool-server.ts'
import { startProcess } from '../helpers/service-process.ts'

// The commands of the command line in the pages, over what npm start serves; what stands below each is what it prints.

/** Shell blocks with the block of output right below. */
function shownIn (page: string) {
  return Array.from(readFileSync(page, 'utf8').matchAll(/^```sh\n([^\n]*aps (?:prompt|agent) [^\n]*)\n```\n\n```\n(.*?)^```$/gms), ([, script = '', output = '']) => ({ script, output }))
}

/** Without what a terminal adds to a pipe's rows, and what is new in every reply. */
function comparable (text: string): string {
  return text.replace(/^ID .*\n/, '').replaceAll(/\t| {2,}(?=\S)/g, ' ').replace(/request [\w-]+/, 'request any').replace(/^session \w+/, 'session any')
}

describe('the command line in the pages', () => {
  for (const [page, count] of [['README.md', 3], ['docs/command-line.md', 7]] as const) {
    it(`prints what ${page} shows`, async t => {
      const { url } = await startProcess(t, { STORE_DIR: await examplesFor(t, await freeExamplePorts()), LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: 'examples/demo/replies.yaml', SESSION_STORE: 'memory' })
      const shown = shownIn(page)
      assert.equal(shown.length, count)
      for (const { script, output } of shown) {
        const command = `aps () { node dist/cli/aps.js "$@" 2>&1; }\n${script.replace('npx ', '').replace('--url http://127.0.0.1:8080 --log dialogue.log', '--log /dev/null')}`
        const { stdout } = spawnSync('bash', ['-c', command], { encoding: 'utf8', env: { PATH: process.env['PATH'], APS_URL: url } })
        assert.equal(comparable(stdout), comparable(output), script)
      }
    })
  }
})
