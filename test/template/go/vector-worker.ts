import { readFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { parseJson } from '../../../src/base/json.ts'
import { judge, type Vector } from './judge.ts'

const lines = readFileSync(workerData as string, 'utf8').split('\n').filter(line => line.trim() !== '')
parentPort?.postMessage(lines.map(line => judge(parseJson(line) as unknown as Vector)))
