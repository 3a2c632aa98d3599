import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, describe, it } from 'node:test'
import { waitFor } from '../helpers/wait-for.ts'
import { checkoutOfExamples, checkoutOverRedis, type CleanCheckout } from './clean-checkout.ts'
import { commandsIn, filesIn, PAGES, type PrintedCommands, unfencedIn } from './printed-commands.ts'
import { assertPrinted } from './printed-output.ts'

// Every command that the README and the docs print is pasted into a shell, one after the other, over what npm start serves. What stands below it is what it
// prints. Those that cannot be run here say why, in a comment above them.

const USES_REDIS = /\bredis-cli\b/

const skip = spawnSync('curl', ['--version']).status === 0 ? false : 'curl is not installed'

describe('the commands that the pages print', { skip, timeout: 300_000 }, () => {
  const closing: Array<() => unknown> = []
  const atEnd = { after: (close?: unknown) => { if (typeof close === 'function') closing.unshift(close as () => unknown) } }
  let examples: Promise<CleanCheckout> | undefined
  let redis: Promise<CleanCheckout> | undefined
  after(async () => { for (const close of closing) await close() })

  /** The two are shared: to start them takes longer than the commands do. */
  const checkoutFor = async ({ script }: PrintedCommands): Promise<CleanCheckout> => {
    if (USES_REDIS.test(script)) redis ??= checkoutOverRedis(atEnd)
    else examples ??= checkoutOfExamples(atEnd)
    return await (USES_REDIS.test(script) ? redis : examples) as CleanCheckout
  }

  for (const page of PAGES) {
    const all = commandsIn(page)

    it(`of ${page} stand in fences, and say why where they are not run`, () => {
      assert.deepEqual(unfencedIn(page), [])
      assert.deepEqual(all.filter(({ notRun }) => notRun?.trim() === ''), [])
    })

    const commands = all.filter(({ notRun }) => notRun === undefined)
    if (commands.length === 0) continue

    it(`of ${page} print what it shows`, async () => {
      const files = filesIn(page)
      for (const command of commands) {
        const checkout = await checkoutFor(command)
        for (const { path, content } of files.filter(({ line }) => line < command.line)) await checkout.folder.write(path, content)
        // What a store or a folder has told of is served a moment later.
        if (USES_REDIS.test(command.script) || files.length > 0) await waitFor(`${page}:${command.line} to print what the page shows`, () => tryCommands(command, checkout))
        else await tryCommands(command, checkout)
      }
    })
  }

  it('are for the most part run', () => {
    const all = PAGES.flatMap(commandsIn)
    assert.ok(all.filter(({ notRun }) => notRun === undefined).length > all.length * 0.6)
  })
})

async function tryCommands ({ script, output, isJson }: PrintedCommands, checkout: CleanCheckout): Promise<true> {
  const { printed, status } = await checkout.paste(script)
  if (output !== undefined) assertPrinted(printed, output, isJson)
  else {
    assert.equal(status, 0, printed)
    assert.doesNotMatch(printed, /"statusCode"/)
  }
  return true
}
