import { objectOf, textOf } from '../base/json.ts'
import { type Command } from 'commander'
import { apiPath } from './api-client.ts'
import { type Cli } from './context.ts'
import { AT_ONCE, type SessionLaunch } from './dialogue.ts'
import { addTalkOptions, talk, type TalkOptions } from './talk.ts'
import { toPath } from '../store/store.ts'

export function addAgentCommand (program: Command, cli: Cli): void {
  const command = program.command('agent').description('talk to an agent of a service, or with --local of STORE_DIR or REDIS_URL')
    .argument('<id>', 'the agent')
  addTalkOptions(command).action(async (id: string, options: TalkOptions, self: Command) => {
    await talk(beginAgent(id), { options, cli, command: self, readLine: text => ({ text }) })
  })
}

function beginAgent (id: string): SessionLaunch {
  return {
    definition: `agents/${toPath(id)}`,
    resume: session => `aps agent ${id} --resume ${session}`,
    // An agent that waits for the next question has answered the last one.
    isSettled: () => true,
    hasTurns: true,
    hint: 'type a message; /help and /exit do what they say unless the agent has words of its own, Ctrl-D leaves',
    startAt: async api => textOf(objectOf(await api.post(apiPath('api', 'agents', id, 'sessions'), {}, AT_ONCE))['id']),
    start: ({ sessions, sessionKinds: { agents }, registry }, visitor) => sessions.start(agents, visitor, registry.generation, { id })
  }
}
