import type { Command } from 'commander'
import type { Cli } from './context.ts'

export function addUsageCommand (program: Command, cli: Cli): void {
  program.command('usage').description('show calls of models, their tokens and what they cost')
    .option('--by <names>', 'what a row is about: day, token, prompt, version, label, model, with commas', 'model')
    .option('--from <day>', 'the first day, such as 2026-01-31, in UTC; today without it')
    .option('--to <day>', 'the last day')
    .action(async ({ by, from, to }: { readonly by: string, readonly from?: string, readonly to?: string }, command: Command) => {
      const { api, output } = cli.open(command)
      const usage = await api.ask('get', '/api/usage', { by, from, to })
      if (output.wantsJson) return await output.json(usage)
      await output.table([...usage.by, 'calls', 'input', 'output', 'usd'], usage.rows.map(row => [
        ...[...usage.by, 'calls', 'inputTokens', 'outputTokens'].map(name => String((row as Readonly<Record<string, unknown>>)[name] ?? '')),
        row.costUsd === undefined ? 'unknown' : `${row.costUsd.toFixed(6)}${row.unpricedCalls > 0 ? ` and ${row.unpricedCalls} calls unknown` : ''}`
      ]))
      await output.words(`prices of ${usage.pricesOf}${usage.since === undefined ? '' : `; counted by one process since ${usage.since}`}`)
    })
}
