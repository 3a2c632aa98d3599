// npm run docs: renews every file that is made from the code. `npm run docs -- --check` says which are out of date.
import { readFileSync, writeFileSync } from 'node:fs'
import { generateDocuments } from './documents.ts'

const isCheck = process.argv.includes('--check')
for (const [path, text] of await generateDocuments()) {
  if (!isCheck) writeFileSync(path, text)
  else if (readFileSync(path, 'utf8') !== text) {
    console.error(`${path} is out of date: npm run docs renews it`)
    process.exitCode = 1
  }
}
