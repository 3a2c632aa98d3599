import { type Log } from '../base/log.ts'

/** What a store writes to the log: lost and regained connections, files that it leaves out. */
export type StoreLog = Pick<Log, 'info' | 'warn'>
