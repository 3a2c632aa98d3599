import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, it, type TestContext } from 'node:test'
import { runApsHere, startAps } from '../helpers/aps.ts'
import { startFaultProxy } from '../helpers/fault-proxy.ts'
import { startService } from '../helpers/service.ts'
import { createTemporaryFolder, type TemporaryFolder } from '../helpers/temporary-folder.ts'

const AGENT = {
  mode: 'steps',
  help: 'Ask me.',
  classify: { prompt: 'classifier' },
  select: { prompt: 'selector' },
  messages: { farewell: 'Bye!', classifying: 'Looking..', irrelevant: 'Not mine.', relevant: 'Mine.', selecting: 'Choosing..', noTool: 'No tool.', unreadable: 'What?', cleared: 'Cleared.' },
  tools: []
}

const REPLIES = `
- { system: classifier, user: nonsense, reply: perhaps }
- { system: classifier, user: weather, reply: "no" }
- { system: classifier, reply: "yes" }
`

interface Place { readonly folder: TemporaryFolder, readonly environment: Readonly<Record<string, string>> }

async function place (t: TestContext): Promise<Place> {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  await folder.write('store/agents/helper.json', JSON.stringify(AGENT))
  await folder.write('replies.yaml', REPLIES)
  return { folder, environment: { STORE_DIR: join(folder.path, 'store'), LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: join(folder.path, 'replies.yaml'), SESSION_STORE: join(folder.path, 'sessions') } }
}

/** Both ways to use it: in process, and of a service. */
async function bothPlaces (t: TestContext) {
  const { environment } = await place(t)
  const { STORE_DIR: _store, ...model } = environment
  const service = await startService(t, { 'agents:helper': AGENT }, { ...model, SESSION_STORE: 'memory' })
  return { environment, served: { APS_URL: await service.listen() } }
}

const sessionIn = (stderr: string): string => /session (\w{32})/.exec(stderr)?.[1] ?? assert.fail(stderr)

describe('aps agent', () => {
  it('holds a dialogue: short lines on stdout, with --verbose the log on stderr', async t => {
    const { environment } = await place(t)
    const { code, stdout, stderr } = await runApsHere(['agent', 'helper', '--verbose'], environment, 'weather?\nowner?\n/exit\n')
    assert.deepEqual([code, stdout], [0, 'Ask me.\nLooking..\nNot mine.\nAsk me.\nLooking..\nMine.\nChoosing..\nNo tool.\nBye!\n'])
    assert.match(stderr, /^\w+ \[main\] AgentStart\n\w+ \[cls\] AgentClassify\n\w+ \[cls\] classify_intent \/\/ Irrelevant query$/m)
  })

  it('writes the log into a file instead', async t => {
    const { folder, environment } = await place(t)
    const { stderr } = await runApsHere(['agent', 'helper', '--log', join(folder.path, 'log')], environment, '/exit\n')
    assert.doesNotMatch(stderr, /AgentStart/)
    assert.match(await readFile(join(folder.path, 'log'), 'utf8'), /^\S+Z debug \[main\] AgentStart$/m)
  })

  it('ends with 1 when the dialogue fails', async t => {
    const { folder, environment } = await place(t)
    await folder.write('store/agents/strict.json', JSON.stringify({ ...AGENT, onError: 'end', repairs: 0, classify: { prompt: 'classifier', unclear: 'error' } }))
    const { code, stdout } = await runApsHere(['agent', 'strict'], environment, 'nonsense\n')
    assert.deepEqual([code, stdout.split('\n').at(-2)], [1, 'What?'])
  })

  it('goes on after a turn that has failed, and ends with 1 where that was the last one of a script', async t => {
    const { folder, environment } = await place(t)
    await folder.write('replies.yaml', '- { user: broken, fail: { status: 400 } }\n- { system: classifier, reply: "no" }\n')
    const failed = await runApsHere(['agent', 'helper'], environment, 'weather?\nbroken\n')
    assert.deepEqual([failed.code, failed.stdout.split('\n').at(-2)], [1, 'The model does not answer. /retry asks again, or say something else.'])
    assert.match(failed.stderr, /^aps: the last turn has failed: \w+; to go on: aps agent helper --resume \w{32} --local$/m)
    const { code } = await runApsHere(['agent', 'helper'], environment, 'broken\n/help\n')
    assert.equal(code, 0)
  })

  it('leaves a dialogue open when the input ends, and goes on with it, its last turn first', async t => {
    const { environment } = await place(t)
    const first = await runApsHere(['agent', 'helper'], environment, 'weather?\n')
    assert.equal(first.code, 0)
    const second = await runApsHere(['agent', 'helper', '--resume'], environment, '/exit\n')
    assert.deepEqual([second.code, second.stdout, sessionIn(second.stderr)], [0, 'Looking..\nNot mine.\nAsk me.\nBye!\n', sessionIn(first.stderr)])
    assert.match(second.stderr, /^> weather\?$/m)
  })

  it('asks again after help, an empty line and a clear', async t => {
    const { environment, served } = await bothPlaces(t)
    for (const place of [environment, served]) {
      const { code, stdout } = await runApsHere(['agent', 'helper'], place, '/help\n\n/clear\n   \nweather?\n/exit\n')
      assert.deepEqual([code, stdout], [0, 'Ask me.\nAsk me.\nCleared.\nLooking..\nNot mine.\nAsk me.\nBye!\n'])
    }
  })

  it('says how to go on when the input ends', async t => {
    const { environment, served } = await bothPlaces(t)
    for (const place of [environment, served]) {
      const { code, stderr } = await runApsHere(['agent', 'helper'], place, '/help\n')
      assert.deepEqual([code, stderr.split('\n').at(-2)], [0, `to go on: aps agent helper --resume ${sessionIn(stderr)}${place === environment ? ' --local' : ''}`])
    }
    const { stderr } = await runApsHere(['agent', 'helper', '--url', served.APS_URL], {}, '')
    assert.equal(stderr.split('\n').at(-2), `to go on: aps agent helper --resume ${sessionIn(stderr)} --url ${served.APS_URL}`)
  })

  it('says how to go on when its service does not answer any more', async t => {
    const { served } = await bothPlaces(t)
    const proxy = await startFaultProxy(Number(new URL(served.APS_URL).port))
    t.after(() => proxy.stop())
    const child = startAps(['agent', 'helper'], { APS_URL: `http://127.0.0.1:${proxy.port}` })
    const stderr = text(child.stderr)
    await once(child.stdout, 'data')
    proxy.set('cut')
    child.stdin.write('weather?\n')
    const [code] = await once(child, 'exit') as [number]
    const said = await stderr
    assert.equal(code, 5)
    assert.match(said, new RegExp(`^aps: .*; to go on: aps agent helper --resume ${sessionIn(said)}$`, 'm'))
  })

  it('refuses to go on with a dialogue that has ended', async t => {
    const { environment, served } = await bothPlaces(t)
    for (const place of [environment, served]) {
      const id = sessionIn((await runApsHere(['agent', 'helper'], place, '/exit\n')).stderr)
      const { code, stderr } = await runApsHere(['agent', 'helper', '--resume', id], place, '')
      assert.deepEqual([code, stderr.split('\n').at(-2)], [1, `aps: session ${id} has ended: completed`])
    }
  })

  it('is JSON for programs, a line for each event', async t => {
    const { environment, served } = await bothPlaces(t)
    for (const place of [environment, served]) {
      const { code, stdout, stderr } = await runApsHere(['agent', 'helper', '--json'], place, '/help\n/exit\n')
      const events = stdout.trimEnd().split('\n').map(line => JSON.parse(line) as { type: string, data: Record<string, unknown> })
      assert.deepEqual([code, stderr, events[0]?.type, /^[0-9a-f]{32}$/.test(String(events[0]?.data['id']))], [0, '', 'session', true])
      assert.deepEqual(events.filter(({ type }) => type === 'stdout').map(({ data }) => data['text']), ['Ask me.', 'Ask me.', 'Bye!'])
      assert.deepEqual([events.at(-1)?.type, events.at(-1)?.data['status'], events.every(({ type, data }) => type === 'session' || typeof data['at'] === 'string')], ['done', 'completed', true])
      assert.deepEqual(events.filter(({ type }) => type === 'input').map(({ data }) => data['text']), ['/help', '/exit'])
    }
  })

  it('tells why an agent cannot be used', async t => {
    const { folder, environment } = await place(t)
    await folder.write('store/agents/broken.json', JSON.stringify({ ...AGENT, tools: 5 }))
    const service = await startService(t, { 'agents:broken': { ...AGENT, tools: 5 } })
    const places: ReadonlyArray<Record<string, string>> = [environment, { APS_URL: await service.listen() }]
    for (const each of places) {
      const { code, stderr } = await runApsHere(['agent', 'broken'], each, '')
      assert.equal(code, 1)
      assert.match(stderr, /^aps: There is no agent "broken" that can be used; of shenma:agents:broken: tools must be a list, not 5 \(DEFINITION_NOT_FOUND/m)
    }
  })

  it('loses nothing when it is killed in mid-dialogue, and begins again with the last turn', async t => {
    const { environment } = await place(t)
    const child = startAps(['agent', 'helper'], environment)
    let [stdout, stderr] = ['', '']
    child.stderr.on('data', (chunk: Buffer) => { stderr += chunk.toString() })
    const answered = new Promise<void>(resolve => child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString()
      if (stdout.endsWith('Not mine.\nAsk me.\n')) resolve()
    }))
    child.stdin.write('weather?\n')
    await answered
    child.kill('SIGKILL')
    await once(child, 'close')
    const resumed = await runApsHere(['agent', 'helper', '--resume', sessionIn(stderr)], environment, 'owner?\n/exit\n')
    assert.deepEqual([resumed.code, resumed.stdout], [0, 'Looking..\nNot mine.\nAsk me.\nLooking..\nMine.\nChoosing..\nNo tool.\nBye!\n'])
  })

  it('says how to go on after Ctrl-C, as do those who follow a session', async t => {
    const { environment, served } = await bothPlaces(t)
    for (const place of [environment, served]) {
      const child = startAps(['agent', 'helper'], place)
      const stderr = text(child.stderr)
      await once(child.stdout, 'data')
      child.kill('SIGINT')
      const [code] = await once(child, 'exit') as [number]
      const said = await stderr
      assert.deepEqual([code, said.split('\n').at(-2)], [130, `to go on: aps agent helper --resume ${sessionIn(said)}${place === environment ? ' --local' : ''}`])
      if (place === environment) continue
      const follower = startAps(['session', 'follow', sessionIn(said)], place)
      const followed = text(follower.stderr)
      await once(follower.stdout, 'data')
      follower.kill('SIGINT')
      assert.match(await followed, new RegExp(`^to go on: aps session follow ${sessionIn(said)} --after 1\\.\\d+\n$`, 'm'))
    }
  })

  it('names --local where no service answers, and takes not both', async t => {
    const { environment } = await place(t)
    const { code, stderr } = await runApsHere(['agent', 'helper', '--url', 'http://127.0.0.1:1'], {}, '')
    assert.deepEqual([code, /; --local does without one$/m.test(stderr)], [5, true])
    assert.equal((await runApsHere(['agent', 'helper', '--local', '--url', 'http://127.0.0.1:1'], environment, '')).code, 2)
  })

  it('talks to an agent of a service', async t => {
    const { environment: { STORE_DIR: _store, ...environment } } = await place(t)
    const service = await startService(t, { 'agents:helper': AGENT }, { ...environment, SESSION_STORE: 'memory' })
    const url = await service.listen()
    const { code, stdout } = await runApsHere(['agent', 'helper', '--url', url], {}, 'weather?\n/exit\n')
    assert.deepEqual([code, stdout], [0, 'Ask me.\nLooking..\nNot mine.\nAsk me.\nBye!\n'])
    const list = await runApsHere(['session', 'list', '--status', 'completed'], { APS_URL: url })
    assert.match(list.stdout, /^\w{32}\tcompleted\tagents\/helper\t/)
    const id = list.stdout.slice(0, 32)
    assert.equal((await runApsHere(['session', 'follow', id], { APS_URL: url })).stdout, 'Ask me.\nLooking..\nNot mine.\nAsk me.\nBye!\n')
    assert.match((await runApsHere(['session', 'show', id], { APS_URL: url })).stdout, /^status: completed$/m)
  })

  it('cancels a session', async t => {
    const service = await startService(t, { 'agents:helper': AGENT })
    const url = await service.listen()
    const { stderr } = await runApsHere(['agent', 'helper', '--url', url], {}, '')
    assert.equal((await runApsHere(['session', 'cancel', sessionIn(stderr)], { APS_URL: url })).stderr, `session ${sessionIn(stderr)} is cancelled\n`)
  })

  const refused = [
    ['an agent that is not there', ['agent', 'nobody'], 1],
    ['a dialogue to go on with that is not there', ['agent', 'helper', '--resume'], 1],
    ['a service that does not answer', ['agent', 'helper', '--url', 'http://127.0.0.1:1'], 5]
  ] as const
  for (const [what, args, code] of refused) {
    it(`ends with ${code} for ${what}`, async t => {
      const { environment } = await place(t)
      assert.equal((await runApsHere(args, environment, '')).code, code)
    })
  }

  it('asks before a call that waits for a person, until the answer is a clear one', async t => {
    const { folder, environment } = await place(t)
    const asking = { ...AGENT, ask: ['erase'], tools: [{ name: 'erase', tool: 'no.such', failed: 'Not erased.' }] }
    await folder.write('store/agents/eraser.json', JSON.stringify(asking))
    await folder.write('replies.yaml', `${REPLIES}- { offers: erase, calls: [{ name: erase }] }\n`)
    const { stdout, stderr } = await runApsHere(['agent', 'eraser'], environment, 'erase it\nn\nerase it\nsure\n\ny\n/exit\n')
    assert.equal(stdout.match(/Not erased\./g)?.length, 2)
    assert.match(stderr, /calls of no\.such are approved one by one: no\.such \{\}; allow it\? y or n/)
    assert.match(stderr, /^expected y or n, got "sure"\nexpected y or n, got ""\nTOOL_FAILED: there is no tool "no\.such"/m)
  })

  it('asks again when it goes on with a dialogue in which a call waits', async t => {
    const { folder, environment: { STORE_DIR = '', ...model } } = await place(t)
    const asking = { ...AGENT, ask: ['erase'], tools: [{ name: 'erase', tool: 'no.such', failed: 'Not erased.' }] }
    await folder.write('store/agents/eraser.json', JSON.stringify(asking))
    await folder.write('replies.yaml', `${REPLIES}- { offers: erase, calls: [{ name: erase }] }\n`)
    const service = await startService(t, { 'agents:eraser': asking }, { ...model, SESSION_STORE: 'memory' })
    const places: ReadonlyArray<Record<string, string>> = [{ ...model, STORE_DIR }, { APS_URL: await service.listen() }]
    for (const environment of places) {
      await runApsHere(['agent', 'eraser'], environment, 'erase it\n')
      const { stdout, stderr } = await runApsHere(['agent', 'eraser', '--resume'], environment, 'n\n/exit\n')
      assert.match(stderr, /calls of no\.such are approved one by one: no\.such \{\}; allow it\? y or n/)
      assert.match(stdout, /Not erased\./)
    }
  })

  it('ends with 2 without a store', async () => {
    assert.equal((await runApsHere(['agent', 'helper', '--local'], {}, '')).code, 2)
  })
})
