// npm run token -- NAME ROLE+ROLE [prompts=team.*|greet] [environs=vscode.*] [runs=agents.*] [targets=web] [labels=production] [serve=staging] [requests=600] [tokens=100000]
// Makes a token, and the line of API_TOKENS by which the service knows it. The token itself is shown once and kept nowhere.
import { createHash, randomBytes } from 'node:crypto'

const ROLES = ['read', 'render', 'chat', 'write', 'run', 'approve', 'admin', 'terminal']
const NAME = String.raw`(?:\*|[^.*|:,\s]+(?:\.[^.*|:,\s]+)*(?:\.\*)?)`
const PATTERNS = { shape: new RegExp(`^${NAME}(?:[|]${NAME})*$`), expected: 'names such as team.review, or everything below one, team.*, with "|" between them' }
const COUNT = { shape: /^[1-9]\d{0,11}$/, expected: 'a number a minute' }
const LABEL = '[a-z][a-z0-9_-]{0,63}'
const LABELS = { shape: new RegExp(`^${LABEL}(?:[|]${LABEL})*$`), expected: 'labels such as production, with "|" between them' }
const ONE_LABEL = { shape: new RegExp(`^${LABEL}$`), expected: 'a label such as staging' }
const EXTRAS = new Map([['prompts', PATTERNS], ['environs', PATTERNS], ['runs', PATTERNS], ['targets', PATTERNS], ['labels', LABELS], ['serve', ONE_LABEL], ['requests', COUNT], ['tokens', COUNT]])

const [name, roles, ...extras] = process.argv.slice(2)
if (name === undefined || roles === undefined) {
  refuse(`Usage: npm run token -- NAME ROLE+ROLE [prompts=PATTERN|PATTERN] [environs=PATTERN|PATTERN] [runs=PATTERN|PATTERN] [targets=PATTERN|PATTERN] [labels=LABEL|LABEL] [serve=LABEL] [requests=N] [tokens=N]\nRoles: ${ROLES.join(', ')}`)
}
if (!/^[\w.-]{1,64}$/.test(name)) refuse(`"${name}" cannot be a name: expected up to 64 letters, digits, ".", "_" and "-"`)
const unknown = roles.split('+').find(role => !ROLES.includes(role))
if (unknown !== undefined) refuse(`There is no role "${unknown}": expected one or more of ${ROLES.join(', ')}, joined by "+"`)
for (const extra of extras) {
  const [, key = '', value = ''] = /^(\w+)=(.*)$/.exec(extra) ?? []
  const { shape, expected } = EXTRAS.get(key) ?? refuse(`"${extra}" is unknown: expected ${[...EXTRAS.keys()].map(each => `${each}=`).join(', ')} behind the roles`)
  if (!shape.test(value)) refuse(`"${extra}" cannot be: expected ${expected} behind ${key}=`)
}
if (new Set(extras.map(extra => extra.split('=', 1)[0])).size < extras.length) refuse(`Each of ${[...EXTRAS.keys()].map(each => `${each}=`).join(', ')} may be there once`)

const token = `aps_${randomBytes(32).toString('base64url')}`
const digest = createHash('sha256').update(token).digest('hex')
console.log(`Token, for the caller:\n  ${token}\nLine, for API_TOKENS:\n  ${[name, roles, digest, ...extras].join(':')}`)

function refuse (reason) {
  console.error(reason)
  process.exit(1)
}
