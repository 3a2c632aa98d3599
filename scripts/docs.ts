// npm run docs: renews every file that is made from the code. A test fails while one of them is out of date.
import { writeFileSync } from 'node:fs'
import { generateDocuments } from './documents.ts'

for (const [path, text] of await generateDocuments()) writeFileSync(path, text)
