import { type Redis } from 'ioredis'

/**
 * Makes sure, once a connection, that a client is in its database. It must be awaited before any key is touched: a client
 * whose SELECT is refused only emits an error, and goes on in database 0
 * (https://github.com/redis/ioredis/blob/main/lib/redis/event_handler.ts, `errorHandler` of "select"). What was refused
 * is asked for again the next time, so that a user who gets the right is let in without a new connection.
 * @param database the number in the Redis URL
 * @returns rejects with what the client throws when it cannot be there
 */
export function createDatabaseCheck (client: Redis, database: number): () => Promise<void> {
  if (database === 0) return async () => {}
  let selected: Promise<void> | undefined
  const forget = () => { selected = undefined }
  client.on('close', forget)

  async function select (): Promise<void> {
    try {
      await client.select(database)
    } catch (error) {
      forget()
      throw error
    }
  }

  return () => (selected ??= select())
}
