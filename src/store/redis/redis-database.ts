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
  let isSelected = false
  client.on('close', () => { isSelected = false })
  return async () => {
    if (isSelected) return
    // Each question asks for itself: a SELECT that is under way may be refused for a right that has been given meanwhile.
    await client.select(database)
    isSelected = true
  }
}
