// Copies a folder of registrations into Redis: node scripts/register.js examples
// REDIS_URL and KEY_PREFIX as the service has them. Files become keys as in the directory store.
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { Redis } from 'ioredis'
import { parse } from 'yaml'

const KINDS = ['extensions', 'templates', 'environs', 'tools']
const [folder] = process.argv.slice(2)
const { REDIS_URL, KEY_PREFIX = 'shenma:' } = process.env
if (folder === undefined || REDIS_URL === undefined) {
  console.error('usage: REDIS_URL=redis://host:port node scripts/register.js FOLDER')
  process.exit(2)
}

const redis = new Redis(REDIS_URL, { connectTimeout: 5000, commandTimeout: 5000, maxRetriesPerRequest: 5 })
redis.on('error', error => console.error(`Redis: ${error.message}`))
const entries = KINDS.flatMap(kind => filesOf(join(folder, kind)).map(file => [keyOf(kind, file), textOf(join(folder, kind, file))]))
for (const [key, text] of entries) await redis.set(key, text)
console.log(`${entries.length} entries registered`)
await redis.quit()

function filesOf (directory) {
  try {
    return readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter(file => /\.(json|ya?ml)$/.test(file)).sort()
  } catch (error) {
    if (error.code === 'ENOENT') return []
    throw error
  }
}

function keyOf (kind, file) {
  return `${KEY_PREFIX}${kind}:${file.slice(0, -extname(file).length).split(/[\\/]/).join(':')}`
}

function textOf (path) {
  const text = readFileSync(path, 'utf8')
  return path.endsWith('.json') ? text : JSON.stringify(parse(text))
}
