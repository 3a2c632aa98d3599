// Copies a folder of registrations into Redis: node scripts/register.js examples
// REDIS_URL, REDIS_SENTINEL_PASSWORD and KEY_PREFIX as the service has them. It needs the built service (npm run build):
// the service's own stores read and write, so that Redis serves what the folder would.
import { loadConfig } from '../dist/config.js'
import { KINDS } from '../dist/registry/kinds.js'
import { createDirectoryStore } from '../dist/store/directory-store.js'
import { createRedisStore } from '../dist/store/redis-store.js'

const [folder] = process.argv.slice(2)
const { REDIS_URL, REDIS_SENTINEL_PASSWORD, KEY_PREFIX } = process.env
if (folder === undefined || !REDIS_URL) {
  console.error('usage: REDIS_URL=redis://host:port node scripts/register.js FOLDER')
  process.exit(2)
}

try {
  await register(folder, loadConfig({ REDIS_URL, REDIS_SENTINEL_PASSWORD, KEY_PREFIX }))
} catch (error) {
  refuse(error.message)
}

async function register (directory, { REDIS_URL: url, REDIS_SENTINEL_PASSWORD: sentinelPassword, KEY_PREFIX: keyPrefix }) {
  const log = { debug () {}, info () {}, warn: (_fields, message) => console.error(message), error: (_fields, message) => console.error(message) }
  const keys = { prefix: keyPrefix, kinds: KINDS }
  const source = await createDirectoryStore({ directory, keys, log })
  const target = createRedisStore({ url, sentinelPassword, keys })
  try {
    let count = 0
    for await (const batch of source.scan(keyPrefix)) {
      for (const key of batch) count += await copy(key, source, target) ? 1 : 0
    }
    console.log(`${count} entries registered`)
  } finally {
    await target.close()
  }
}

/** One key after the other, so that a large folder need not fit into memory. */
async function copy (key, source, target) {
  const [value] = await source.read([key])
  if (value.kind === 'missing') return false
  const outcome = value.kind === 'bad' ? value.reason : await target.write(key, value.text)
  if (outcome === 'created' || outcome === 'replaced') return true
  refuse(`${key} is not registered: ${outcome.reason ?? outcome}`)
  return false
}

function refuse (reason) {
  console.error(reason)
  process.exitCode = 1
}
