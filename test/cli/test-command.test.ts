import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { runApsHere } from '../helpers/aps.ts'
import { startService } from '../helpers/service.ts'
import { shared } from '../helpers/shared.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

// One prompt's tests, green and red, in every form that the command prints.

const PROMPT = 'userPrompt: Say hello to {{variables.name}}\n'
const GREEN = '- description: greets by name\n  vars: { name: Ada }\n  assert:\n    - { type: contains, value: Ada }\n'
const RED = `${GREEN}- description: names <"us"> & them\n  vars: { name: Ada }\n  assert:\n    - { type: contains, value: Bob }\n- assert: []\n`

async function folderWith (t: TestContext, files: Readonly<Record<string, string>>) {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  for (const [path, text] of Object.entries(files)) await folder.write(path, text)
  return folder.path
}

const withoutTimes = (text: string) => text.replaceAll(/\(\d+ ms\)/g, '(… ms)').replaceAll(/time="[\d.]+"/g, 'time="…"')

/** The address of a service with a prompt. */
const there = shared(async t => await (await startService(t, { 'templates:greet': 'Hello {{variables.name}}, from there' }, { LOG_LEVEL: 'silent' })).listen())

describe('aps test', () => {
  it('of a folder is green without a service', async t => {
    const cwd = await folderWith(t, { 'p/templates/greet.yaml': PROMPT, 'p/tests/greet.yaml': GREEN })
    const { code, stdout, stderr } = await runApsHere(['test', 'p'], {}, undefined, cwd)
    assert.deepEqual([code, withoutTimes(stdout), stderr], [0, 'ok   greet: greets by name (… ms)\n', '1 passed, 0 failed\n'])
  })

  it('is red with what does not hold, and ends with 1', async t => {
    const cwd = await folderWith(t, { 'templates/greet.yaml': PROMPT, 'tests/greet.yaml': RED })
    const { code, stdout, stderr } = await runApsHere(['test'], {}, undefined, cwd)
    assert.deepEqual([code, stderr], [1, 'aps: 1 passed, 2 failed\n'])
    assert.match(withoutTimes(stdout), /^ok {3}greet: greets by name \(… ms\)\nFAIL greet: names <"us"> & them \(… ms\)\n {5}contains: expected "Bob", got "Say hello to Ada"\nFAIL greet: case 3 \(… ms\)\n {5}.*variables\.name.* \(VARIABLE_MISSING\)\n$/)
  })

  it('writes JUnit: failures, and errors where there was nothing to look at', async t => {
    const cwd = await folderWith(t, { 'templates/greet.yaml': PROMPT, 'tests/greet.yaml': RED })
    const { code, stdout } = await runApsHere(['test', '--format', 'junit'], {}, undefined, cwd)
    assert.equal(code, 1)
    const lines = withoutTimes(stdout).split('\n')
    assert.deepEqual(lines.slice(0, 7), [
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<testsuites tests="3" failures="1" errors="1" time="…">',
      '  <testsuite name="greet" tests="3" failures="1" errors="1" time="…">',
      '    <testcase classname="greet" name="greets by name" file="tests/greet.yaml" line="1" time="…"/>',
      '    <testcase classname="greet" name="names &lt;&quot;us&quot;&gt; &amp; them" file="tests/greet.yaml" line="5" time="…">',
      '      <failure message="contains: expected &quot;Bob&quot;, got &quot;Say hello to Ada&quot;">contains: expected &quot;Bob&quot;, got &quot;Say hello to Ada&quot;</failure>',
      '    </testcase>'
    ])
    assert.match(lines[8] ?? '', /^ {6}<error message="[^"]+VARIABLE_MISSING\)">/)
  })

  it('writes annotations at the line of a case, and JSON', async t => {
    const cwd = await folderWith(t, { 'templates/greet.yaml': PROMPT, 'tests/greet.yaml': RED })
    const annotations = await runApsHere(['test', '--format', 'github'], {}, undefined, cwd)
    assert.match(annotations.stdout, /^::error file=tests\/greet\.yaml,line=5,col=3,title=greet%3A names <"us"> & them::contains: expected "Bob", got "Say hello to Ada"\n::error file=tests\/greet\.yaml,line=9,/)
    const { stdout } = await runApsHere(['test', '--json=id,case,line,pass,failures'], {}, undefined, cwd)
    assert.deepEqual((JSON.parse(stdout) as unknown[])[1], { id: 'greet', case: 'names <"us"> & them', line: 5, pass: false, failures: ['contains: expected "Bob", got "Say hello to Ada"'] })
  })

  it('asks the model that the folder configures, and the judge', async t => {
    const cwd = await folderWith(t, {
      '.env': 'LLM_BASE_URL=builtin:script\nLLM_SCRIPT_FILE=replies.yaml\n',
      'replies.yaml': '- last: judge\n  reply: \'{ "pass": true, "score": 1, "reason": "It greets." }\'\n- last: say hello\n  reply: Hello!\n',
      'templates/greet.yaml': PROMPT,
      'templates/evaluator/judge.yaml': 'userPrompt: judge {{variables.output}}\n',
      'tests/greet.yaml': '- run: chat\n  vars: { name: Ada }\n  assert: [{ type: equals, value: Hello! }, { type: llm-rubric, value: greets }]\n'
    })
    assert.equal((await runApsHere(['test'], {}, undefined, cwd)).code, 0)
  })

  it('answers calls from a bundle of the folder, and reads none outside of it', async t => {
    const files = {
      'templates/ask.yaml': 'userPrompt: \'{{crm_find id="7"}}\'\n',
      'tools/crm/find.yaml': 'module: crm\nname: find\nrestful: { url: "http://127.0.0.1:9/{id}", method: GET }\nparameters: [{ name: id, type: string }]\ndefault: nobody\n',
      'recorded/ask.json': '{ "tools": [{ "tool": "crm.find", "arguments": { "id": "7" }, "value": "Ida" }] }',
      'tests/ask.yaml': '- tools: recorded/ask.json\n  assert: [{ type: equals, value: Ida }]\n- assert: [{ type: equals, value: nobody }]\n'
    }
    assert.equal((await runApsHere(['test'], {}, undefined, await folderWith(t, files))).code, 0)
    const outside = await runApsHere(['test'], {}, undefined, await folderWith(t, { ...files, 'tests/ask.yaml': '- tools: ../../../etc/hostname\n' }))
    assert.equal(outside.code, 2)
  })

  it('of a service runs the tests that it has, of a prompt, of a version, and of all', async t => {
    const service = await startService(t, { 'templates:greet': 'Hello {{variables.name}}', 'templates:bye': 'Bye', 'tests:greet': [{ description: 'says hello', vars: { name: 'Ada' }, assert: [{ type: 'starts-with', value: 'Hello' }] }], 'tests:bye': [{ assert: [{ type: 'equals', value: 'Hello' }] }] }, { LOG_LEVEL: 'silent', VERSIONS: 'http' })
    const aps = async (...args: readonly string[]) => {
      const { code, stdout } = await runApsHere(['test', ...args], { APS_URL: url })
      return [code, withoutTimes(stdout)]
    }
    const url = await service.listen()
    assert.deepEqual(await aps('greet'), [0, 'ok   greet: says hello (… ms)\n'])
    assert.deepEqual(await aps('--server'), [1, 'FAIL bye: case 1 (… ms)\n     equals: expected "Hello", got "Bye"\nok   greet: says hello (… ms)\n'])
    await service.post('/api/prompts/greet/versions', {})
    await service.app.inject({ method: 'PUT', url: '/api/prompts/greet', payload: '"Hi"', headers: { 'content-type': 'application/json' } })
    assert.deepEqual([(await aps('greet'))[0], (await aps('greet@1'))[0]], [1, 0])
    assert.equal((await aps('greet', '--label', 'production'))[0], 1)
    assert.equal((await aps('nope'))[0], 1)
  })

  it('of a folder on the prompts of a service', async t => {
    const cwd = await folderWith(t, { 'tests/greet.yaml': '- vars: { name: Ada }\n  assert: [{ type: contains, value: from there }]\n' })
    assert.equal((await runApsHere(['test', '.', '--server'], { APS_URL: await there() }, undefined, cwd)).code, 0)
  })

  it('says what is wrong with tests where aps lint does, at its line', async t => {
    const cwd = await folderWith(t, { 'templates/greet.yaml': PROMPT, 'tests/greet.yaml': '- assert:\n    - type: contans\n      value: x\n', 'tests/gone.yaml': GREEN })
    assert.equal((await runApsHere(['test'], {}, undefined, cwd)).code, 2)
    const lint = await runApsHere(['lint'], {}, undefined, cwd)
    assert.equal(lint.code, 1)
    assert.match(lint.stdout, /^tests\/gone\.yaml:1:1: warning: there is no prompt "gone"[^\n]+\(PROMPT_UNKNOWN\)[^\n]*\ntests\/greet\.yaml:2:7: error: 0\.assert\.0\.type must be one of [^\n]+\(SCHEMA\)/)
    assert.match((await runApsHere(['lint', cwd, '--server'], { APS_URL: await there() })).stdout.replaceAll(`${cwd}/`, ''), /^tests\/greet\.yaml:2:7: error/m)
  })

  it('without any test ends with 1', async t => {
    const cwd = await folderWith(t, { 'templates/greet.yaml': PROMPT })
    assert.deepEqual(await runApsHere(['test'], {}, undefined, cwd), { code: 1, stdout: '', stderr: 'aps: there is no test\n' })
  })
})

describe('aps tests', () => {
  it('lists, gets, publishes and removes the tests of prompts, as other kinds', async () => {
    const url = await there()
    const aps = async (args: readonly string[], input?: string) => {
      const { stdout, stderr } = await runApsHere(['tests', ...args], { APS_URL: url }, input)
      return stdout + stderr
    }
    assert.equal(await aps(['add', 'greet', '-d', '-'], GREEN), 'created list of tests greet\n')
    assert.equal(await aps(['list']), 'greet\t1\n')
    assert.match(await aps(['get', 'greet']), /^- description: greets by name\n/)
    assert.equal(await aps(['remove', 'greet']), 'removed list of tests greet\n')
  })
})
