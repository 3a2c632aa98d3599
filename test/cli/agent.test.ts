import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { runApsHere, startAps, startApsHere } from '../helpers/aps.ts'
import { startFaultProxy } from '../helpers/fault-proxy.ts'
import { startService } from '../helpers/service.ts'
import { shared } from '../helpers/shared.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

const AGENT = {
  mode: 'steps',
  help: 'Ask me.',
  classify: { prompt: 'classifier' },
  select: { prompt: 'selector' },
  messages: { farewell: 'Bye!', classifying: 'Looking..', irrelevant: 'Not mine.', relevant: 'Mine.', selecting: 'Choosing..', noTool: 'No tool.', unreadable: 'What?', cleared: 'Cleared.' },
  tools: []
}

/** An agent that asks before it calls its tool. */
const ERASER = { ...AGENT, ask: ['erase'], tools: [{ name: 'erase', tool: 'no.such', failed: 'Not erased.' }] }

const AGENTS = { helper: AGENT, eraser: ERASER, broken: { ...AGENT, tools: 5 }, strict: { ...AGENT, onError: 'end', repairs: 0, classify: { prompt: 'classifier', unclear: 'error' } } }

const REPLIES = `
- { user: broken, fail: { status: 400 } }
- { offers: erase, calls: [{ name: erase }] }
- { system: classifier, user: nonsense, reply: perhaps }
- { system: classifier, user: weather, reply: "no" }
- { system: classifier, reply: "yes" }
`

/** Both ways to use it: in process, and of a service. */
const bothPlaces = shared(async t => {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  for (const [id, agent] of Object.entries(AGENTS)) await folder.write(`store/agents/${id}.json`, JSON.stringify(agent))
  await folder.write('replies.yaml', REPLIES)
  const at = (name: string): string => join(folder.path, name)
  const model = { LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: at('replies.yaml') }
  const service = await startService(t, Object.fromEntries(Object.entries(AGENTS).map(([id, agent]) => [`agents:${id}`, agent])), model)
  return { at, environment: { ...model, STORE_DIR: at('store'), SESSION_STORE: at('sessions') }, served: { APS_URL: await service.listen() } }
})

const sessionIn = (stderr: string): string => /session (\w{32})/.exec(stderr)?.[1] ?? assert.fail(stderr)

describe('aps agent', () => {
  it('holds a dialogue: short lines on stdout, with --verbose the log on stderr', async () => {
    const { environment } = await bothPlaces()
    const { code, stdout, stderr } = await runApsHere(['agent', 'helper', '--verbose'], environment, 'weather?\nowner?\n/exit\n')
    assert.deepEqual([code, stdout], [0, 'Ask me.\nLooking..\nNot mine.\nAsk me.\nLooking..\nMine.\nChoosing..\nNo tool.\nBye!\n'])
    assert.match(stderr, /^\w+ \[main\] AgentStart\n\w+ \[cls\] AgentClassify\n\w+ \[cls\] classify_intent \/\/ Irrelevant query$/m)
  })

  it('writes the log into a file instead', async () => {
    const { at, environment } = await bothPlaces()
    const { stderr } = await runApsHere(['agent', 'helper', '--log', at('log')], environment, '/exit\n')
    assert.doesNotMatch(stderr, /AgentStart/)
    assert.match(await readFile(at('log'), 'utf8'), /^\S+Z debug \[main\] AgentStart$/m)
  })

  it('ends with 1 when the dialogue fails', async () => {
    const { environment } = await bothPlaces()
    const { code, stdout } = await runApsHere(['agent', 'strict'], environment, 'nonsense\n')
    assert.deepEqual([code, stdout.split('\n').at(-2)], [1, 'What?'])
  })

  it('goes on after a turn that has failed, and ends with 1 where that was the last one of a script', async () => {
    const { environment } = await bothPlaces()
    const failed = await runApsHere(['agent', 'helper'], environment, 'weather?\nbroken\n')
    assert.deepEqual([failed.code, failed.stdout.split('\n').at(-2)], [1, 'The model does not answer. /retry asks again, or say something else.'])
    assert.match(failed.stderr, /^aps: the last turn has failed: \w+; to go on: aps agent helper --resume \w{32} --local$/m)
    const { code } = await runApsHere(['agent', 'helper'], environment, 'broken\n/help\n')
    assert.equal(code, 0)
  })

  it('leaves a dialogue open when the input ends, and goes on with it, its last turn first', async () => {
    const { environment } = await bothPlaces()
    const first = await runApsHere(['agent', 'helper'], environment, 'weather?\n')
    assert.equal(first.code, 0)
    const second = await runApsHere(['agent', 'helper', '--resume'], environment, '/exit\n')
    assert.deepEqual([second.code, second.stdout, sessionIn(second.stderr)], [0, 'Looking..\nNot mine.\nAsk me.\nBye!\n', sessionIn(first.stderr)])
    assert.match(second.stderr, /^> weather\?$/m)
  })

  it('asks again after help, an empty line and a clear', async () => {
    const { environment, served } = await bothPlaces()
    for (const place of [environment, served]) {
      const { code, stdout } = await runApsHere(['agent', 'helper'], place, '/help\n\n/clear\n   \nweather?\n/exit\n')
      assert.deepEqual([code, stdout], [0, 'Ask me.\nAsk me.\nCleared.\nLooking..\nNot mine.\nAsk me.\nBye!\n'])
    }
  })

  it('says how to go on when the input ends', async () => {
    const { environment, served } = await bothPlaces()
    for (const place of [environment, served]) {
      const { code, stderr } = await runApsHere(['agent', 'helper'], place, '/help\n')
      assert.deepEqual([code, stderr.split('\n').at(-2)], [0, `to go on: aps agent helper --resume ${sessionIn(stderr)}${place === environment ? ' --local' : ''}`])
    }
    const { stderr } = await runApsHere(['agent', 'helper', '--url', served.APS_URL], {}, '')
    assert.equal(stderr.split('\n').at(-2), `to go on: aps agent helper --resume ${sessionIn(stderr)} --url ${served.APS_URL}`)
  })

  it('says how to go on when its service does not answer any more', async t => {
    const { served } = await bothPlaces()
    const proxy = await startFaultProxy(Number(new URL(served.APS_URL).port))
    t.after(() => proxy.stop())
    const { stdin, printed, ended } = startApsHere(['agent', 'helper'], { APS_URL: `http://127.0.0.1:${proxy.port}` })
    await waitFor('the greeting', () => printed.stdout !== '')
    proxy.set('cut')
    stdin.write('weather?\n')
    const { code, stderr } = await ended
    assert.equal(code, 5)
    assert.match(stderr, new RegExp(`^aps: .*; to go on: aps agent helper --resume ${sessionIn(stderr)}$`, 'm'))
  })

  it('refuses to go on with a dialogue that has ended', async () => {
    const { environment, served } = await bothPlaces()
    for (const place of [environment, served]) {
      const id = sessionIn((await runApsHere(['agent', 'helper'], place, '/exit\n')).stderr)
      const { code, stderr } = await runApsHere(['agent', 'helper', '--resume', id], place, '')
      assert.deepEqual([code, stderr.split('\n').at(-2)], [1, `aps: session ${id} has ended: completed`])
    }
  })

  it('is JSON for programs, a line for each event', async () => {
    const { environment, served } = await bothPlaces()
    for (const place of [environment, served]) {
      const { code, stdout, stderr } = await runApsHere(['agent', 'helper', '--json'], place, '/help\n/exit\n')
      const events = stdout.trimEnd().split('\n').map(line => JSON.parse(line) as { type: string, data: Record<string, unknown> })
      assert.deepEqual([code, stderr, events[0]?.type, /^[0-9a-f]{32}$/.test(String(events[0]?.data['id']))], [0, '', 'session', true])
      assert.deepEqual(events.filter(({ type }) => type === 'stdout').map(({ data }) => data['text']), ['Ask me.', 'Ask me.', 'Bye!'])
      assert.deepEqual([events.at(-1)?.type, events.at(-1)?.data['status'], events.every(({ type, data }) => type === 'session' || typeof data['at'] === 'string')], ['done', 'completed', true])
      assert.deepEqual(events.filter(({ type }) => type === 'input').map(({ data }) => data['text']), ['/help', '/exit'])
    }
  })

  it('tells why an agent cannot be used', async () => {
    const { environment, served } = await bothPlaces()
    for (const each of [environment, served]) {
      const { code, stderr } = await runApsHere(['agent', 'broken'], each, '')
      assert.equal(code, 1)
      assert.match(stderr, /^aps: There is no agent "broken" that can be used; of shenma:agents:broken: tools must be a list, not 5 \(DEFINITION_NOT_FOUND/m)
    }
  })

  it('loses nothing when it is killed in mid-dialogue, and begins again with the last turn', async () => {
    const { environment } = await bothPlaces()
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

  it('says how to go on after Ctrl-C, as do those who follow a session', async () => {
    const { environment, served } = await bothPlaces()
    for (const place of [environment, served]) {
      const { printed, ended, interrupt } = startApsHere(['agent', 'helper'], place)
      await waitFor('the greeting', () => printed.stdout !== '')
      interrupt()
      const { code, stderr } = await ended
      assert.deepEqual([code, stderr.split('\n').at(-2)], [130, `to go on: aps agent helper --resume ${sessionIn(stderr)}${place === environment ? ' --local' : ''}`])
      if (place === environment) continue
      const follower = startApsHere(['session', 'follow', sessionIn(stderr)], place)
      await waitFor('what was said', () => follower.printed.stdout !== '')
      follower.interrupt()
      assert.match((await follower.ended).stderr, new RegExp(`^to go on: aps session follow ${sessionIn(stderr)} --after 1\\.\\d+\n$`, 'm'))
    }
  })

  it('names --local where no service answers, and takes not both', async () => {
    const { environment } = await bothPlaces()
    const { code, stderr } = await runApsHere(['agent', 'helper', '--url', 'http://127.0.0.1:1'], {}, '')
    assert.deepEqual([code, /; --local does without one$/m.test(stderr)], [5, true])
    assert.equal((await runApsHere(['agent', 'helper', '--local', '--url', 'http://127.0.0.1:1'], environment, '')).code, 2)
  })

  it('talks to an agent of a service', async () => {
    const { served: { APS_URL: url } } = await bothPlaces()
    const { code, stdout, stderr } = await runApsHere(['agent', 'helper', '--url', url], {}, 'weather?\n/exit\n')
    assert.deepEqual([code, stdout], [0, 'Ask me.\nLooking..\nNot mine.\nAsk me.\nBye!\n'])
    const id = sessionIn(stderr)
    const list = await runApsHere(['session', 'list', '--status', 'completed'], { APS_URL: url })
    assert.match(list.stdout, new RegExp(`^${id}\\tcompleted\\tagents/helper\\t`))
    assert.equal((await runApsHere(['session', 'follow', id], { APS_URL: url })).stdout, 'Ask me.\nLooking..\nNot mine.\nAsk me.\nBye!\n')
    assert.match((await runApsHere(['session', 'show', id], { APS_URL: url })).stdout, /^status: completed$/m)
  })

  it('cancels a session', async () => {
    const { served: { APS_URL: url } } = await bothPlaces()
    const { stderr } = await runApsHere(['agent', 'helper', '--url', url], {}, '')
    assert.equal((await runApsHere(['session', 'cancel', sessionIn(stderr)], { APS_URL: url })).stderr, `session ${sessionIn(stderr)} is cancelled\n`)
  })

  const refused = [
    ['an agent that is not there', ['agent', 'nobody'], 1],
    ['a dialogue to go on with that is not there', ['agent', 'helper', '--resume'], 1],
    ['a service that does not answer', ['agent', 'helper', '--url', 'http://127.0.0.1:1'], 5]
  ] as const
  for (const [what, args, code] of refused) {
    it(`ends with ${code} for ${what}`, async () => {
      const { environment, at } = await bothPlaces()
      assert.equal((await runApsHere(args, { ...environment, SESSION_STORE: at('none') }, '')).code, code)
    })
  }

  it('asks before a call that waits for a person, until the answer is a clear one', async () => {
    const { environment } = await bothPlaces()
    const { stdout, stderr } = await runApsHere(['agent', 'eraser'], environment, 'erase it\nn\nerase it\nsure\n\ny\n/exit\n')
    assert.equal(stdout.match(/Not erased\./g)?.length, 2)
    assert.match(stderr, /calls of no\.such are approved one by one: no\.such \{\}; allow it\? y or n/)
    assert.match(stderr, /^expected y or n, got "sure"\nexpected y or n, got ""\nTOOL_FAILED: there is no tool "no\.such"/m)
  })

  it('asks again when it goes on with a dialogue in which a call waits', async () => {
    const { environment, served } = await bothPlaces()
    for (const place of [environment, served]) {
      await runApsHere(['agent', 'eraser'], place, 'erase it\n')
      const { stdout, stderr } = await runApsHere(['agent', 'eraser', '--resume'], place, 'n\n/exit\n')
      assert.match(stderr, /calls of no\.such are approved one by one: no\.such \{\}; allow it\? y or n/)
      assert.match(stdout, /Not erased\./)
    }
  })

  it('ends with 2 without a store', async () => {
    assert.equal((await runApsHere(['agent', 'helper', '--local'], {}, '')).code, 2)
  })
})
