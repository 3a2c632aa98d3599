import { type Row } from '../report.ts'
import { startRedis } from './redis.ts'
import { startService } from './service.ts'

const ENTRIES = 100_000

/** How 100,000 templates load. */
export async function largeRows (): Promise<Row[]> {
  const redis = await startRedis()
  await redis.fill(Array.from({ length: ENTRIES }, (_, index) => [`shenma:templates:t${index}`, `Prompt ${index} says {{variables.word}}.`] as const))
  const service = await startService(redis.url)
  try {
    const longestBlock = await service.longestBlockOfLoading()
    return [{ name: 'large/longest-block', figure: longestBlock, unit: 'ms', details: `while ${ENTRIES} templates loaded, in ${(service.readyAfter / 1000).toFixed(1)} s; ${service.memory().resident.toFixed(0)} MB` }]
  } finally {
    await service.stop()
    await redis.stop()
  }
}
