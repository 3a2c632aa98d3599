import { type Script, type ScriptedModel, tokensOf } from '../scripted-model.ts'
import { median } from '../../rounds.ts'
import { type ToolServer } from '../tool-server.ts'
import { breaks, brokenArguments, goodReply, moody, saysYesInProse, talks } from './scripts.ts'
import { type Dialogue, type Side, type Turn } from './side.ts'

/** What both sides are asked with. */
export interface Stage { readonly model: ScriptedModel, readonly tools: ToolServer }

/** What one side has shown: a measure, its figure. */
export type Figures = ReadonlyMap<string, string>

/** One situation that both sides meet. */
export interface Scenario { readonly title: string, run (side: Side, stage: Stage): Promise<Figures> }

const DIALOGUES = 5
const KILLED = 3
const TURNS = 200
const STREAMED = 20
const QUESTION = 'Who owns billing?'
const ORDER = 'Transfer billing to Ada'

/**
 * A question with a model that fails somehow, then one with a good model.
 * @param asksAgain whether its user does, once, where the turn has failed; a model that always fails so is not asked again
 */
function spoilt (title: string, agent: 'desk' | 'librarian', script: () => Script, asksAgain: boolean): Scenario {
  const dialogues = asksAgain ? DIALOGUES : 1
  return {
    title,
    async run (side, { model, tools }) {
      const counts = { atOnce: 0, again: 0, alive: 0, calls: 0, questions: 0 }
      const seconds: number[] = []
      for (let count = 0; count < dialogues; count++) {
        const dialogue = await side.open(agent)
        tools.reset()
        model.follow(script())
        const begun = performance.now()
        const first = await dialogue.say(QUESTION)
        seconds.push((performance.now() - begun) / 1000)
        if (isAnswered(first)) counts.atOnce++
        else if (asksAgain && isAnswered(await dialogue.retry(QUESTION).catch(failedTurn))) counts.again++
        counts.calls += tools.owners()
        counts.questions += model.use().calls
        model.follow(goodReply)
        if (isAnswered(await dialogue.say(QUESTION).catch(failedTurn))) counts.alive++
      }
      return new Map([
        ['dialogues that go on', of(counts.alive, dialogues)],
        ['answered at once', of(counts.atOnce, dialogues)],
        ...(asksAgain ? [['answered when asked again', String(counts.again)] as const] : []),
        [`calls of the tool (right: ${dialogues})`, String(counts.calls)],
        ['questions to the model', String(counts.questions)],
        ['seconds until its user reads something, median', median(seconds).toFixed(1)]
      ])
    }
  }
}

/** An order that waits for a person, with the process killed while it waits, or while what was allowed is done. */
function killed (title: string, agent: 'desk' | 'guide', isBegun: boolean): Scenario {
  return {
    title,
    async run (side, { model, tools }) {
      const counts = { told: 0, calls: 0, alive: 0 }
      const seconds: number[] = []
      model.follow(goodReply)
      for (let count = 0; count < KILLED; count++) {
        tools.reset()
        const dialogue = await side.open(agent)
        const asked = await dialogue.say(ORDER)
        if (!asked.waits) throw new Error(`${side.name} does not wait: ${JSON.stringify(asked)}`)
        const { end, took } = await (isBegun ? killedWithin(side, tools, dialogue) : killedBefore(side, dialogue))
        seconds.push(took)
        if (end.answer !== undefined) counts.told++
        counts.calls += tools.transfers()
        if (isAnswered(await dialogue.say(QUESTION).catch(failedTurn))) counts.alive++
      }
      return new Map([
        ['dialogues that go on', of(counts.alive, KILLED)],
        [`calls of the tool (right: ${KILLED})`, String(counts.calls)],
        [isBegun ? 'its user reads how it ended, or that nobody knows' : 'its user reads how it ended', of(counts.told, KILLED)],
        ['seconds from the kill to that, median', median(seconds).toFixed(1)]
      ])
    }
  }
}

/** How it ended, and how many seconds after the kill. */
interface Ended { readonly end: Turn, readonly took: number }

async function killedBefore (side: Side, dialogue: Dialogue): Promise<Ended> {
  await side.kill()
  const begun = performance.now()
  await side.start()
  const found = await dialogue.goOn()
  if (!found.waits) throw new Error(`${side.name} has lost what waits: ${JSON.stringify(found)}`)
  return { end: await dialogue.approve(), took: (performance.now() - begun) / 1000 }
}

async function killedWithin (side: Side, tools: ToolServer, dialogue: Dialogue): Promise<Ended> {
  const { isAsked, release } = tools.holdNext()
  const approved = dialogue.approve().catch(failedTurn)
  await isAsked
  await side.kill()
  const begun = performance.now()
  await approved
  release()
  await side.start()
  return { end: await dialogue.goOn(), took: (performance.now() - begun) / 1000 }
}

const long: Scenario = {
  title: `${TURNS} turns; each 17th answer of the model is a failure, each 11th of no use`,
  async run (side, { model, tools }) {
    const dialogue = await side.open('librarian')
    const counts = { told: 0, once: 0, failed: 0 }
    model.follow(moody())
    const begun = performance.now()
    for (let turn = 1; turn <= TURNS; turn++) {
      tools.reset()
      const { answer, failed } = await dialogue.say(`${QUESTION} (${turn})`).catch(failedTurn)
      if (answer?.includes('Ada') === true) counts.told++
      if (failed !== undefined) counts.failed++
      if (tools.owners() === 1) counts.once++
    }
    const [{ calls, sent, largest }, seconds] = [model.use(), (performance.now() - begun) / 1000]
    model.follow(goodReply)
    const isAlive = isAnswered(await dialogue.say(QUESTION).catch(failedTurn))
    return new Map([
      ['the dialogue goes on', isAlive ? 'yes' : 'no'],
      ['turns that told who it is', of(counts.told, TURNS)],
      ['turns with one call of the tool', of(counts.once, TURNS)],
      ['turns that failed', String(counts.failed)],
      ['questions to the model', String(calls)],
      ['tokens sent to the model in all', tokensOf(sent).toLocaleString('en')],
      ['tokens of the largest question', tokensOf(largest).toLocaleString('en')],
      ['seconds', seconds.toFixed(1)]
    ])
  }
}

const streamed: Scenario = {
  title: 'an answer in 20 pieces, 20 ms apart',
  async run (side, { model }) {
    model.follow(talks)
    const dialogue = await side.open('desk')
    const times: number[] = []
    for (let count = 0; count < STREAMED; count++) times.push(await dialogue.firstWords('Tell me a story'))
    return new Map([
      ['first words at the reader, median of 20', `${Math.round(median(times))} ms`],
      ['the slowest of 20', `${Math.round(Math.max(...times))} ms`]
    ])
  }
}

/** All situations, in the order of the report. */
export const SCENARIOS: readonly Scenario[] = [
  spoilt('the model says yes in a sentence, where a word or a form was asked for', 'librarian', () => saysYesInProse, false),
  spoilt('the model\'s connection breaks three times', 'desk', () => breaks(3), true),
  spoilt('the arguments of a call are cut off', 'desk', brokenArguments, true),
  killed('`kill -9` while a call waits for a person', 'desk', false),
  killed('`kill -9` while the call that was allowed is made', 'desk', true),
  killed('an agent in an agent: `kill -9` while a call of the inner one waits', 'guide', false),
  killed('an agent in an agent: `kill -9` while that call is made', 'guide', true),
  long,
  streamed
]

function isAnswered ({ answer }: Turn): boolean {
  return answer !== undefined
}

function failedTurn (error: unknown): Turn {
  return { answer: undefined, failed: String(error), waits: false }
}

function of (count: number, all: number): string {
  return `${count} of ${all}`
}
