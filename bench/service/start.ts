import assert from 'node:assert/strict'
import { type Row } from '../report.ts'
import { median } from '../rounds.ts'
import { onServiceStage } from './service-stage.ts'

const STARTS = 7

/** From `node dist/main.js` to the first 200. */
export const startRows = (): Promise<Row[]> => onServiceStage(async ({ store, startService }) => {
  const times: number[] = []
  for (let count = 0; count < STARTS; count++) {
    const begin = performance.now()
    const server = await startService(store)
    assert.equal((await fetch(`${server.origin}/healthz`)).status, 200)
    times.push(performance.now() - begin)
    server.stop()
  }
  return [{ name: 'start', figure: median(times), unit: 'ms', details: 'to the first 200, with 1,100 prompts' }]
})
