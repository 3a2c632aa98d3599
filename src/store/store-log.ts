import { type BaseLogger } from 'pino'

/** What a store writes to the log: lost and regained connections, files that it leaves out. */
export type StoreLog = Pick<BaseLogger, 'info' | 'warn'>
