// npm run token -- NAME ROLE+ROLE [prompts=team.*|greet] [environs=vscode.*] [requests=600] [tokens=100000]
// Makes a token, and the line of API_TOKENS by which the service knows it. The token itself is shown once and kept nowhere.
import { createHash, randomBytes } from 'node:crypto'

const [name, roles, ...extras] = process.argv.slice(2)
if (name === undefined || roles === undefined) {
  console.error('Usage: npm run token -- NAME ROLE+ROLE [prompts=PATTERN|PATTERN] [environs=PATTERN|PATTERN] [requests=N] [tokens=N]\nRoles: read, render, chat, write, admin')
  process.exit(1)
}

const token = `aps_${randomBytes(32).toString('base64url')}`
const digest = createHash('sha256').update(token).digest('hex')
console.log(`Token, for the caller:\n  ${token}\nLine, for API_TOKENS:\n  ${[name, roles, digest, ...extras].join(':')}`)
