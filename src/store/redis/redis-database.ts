import { type Redis } from 'ioredis'

/**
 * Makes a function that selects a client's database, once for each connection. The function must be awaited before any key is touched: when SELECT is
 * refused, the client only emits an error, and goes on in database 0 (https://github.com/redis/ioredis/blob/main/lib/redis/event_handler.ts,
 * `errorHandler` of "select"). After a refusal the function asks again the next time, so that a user who is given the right needs no new connection.
 * @param database the number in the Redis URL
 * @returns the function; it rejects with what the client throws when the database cannot be selected
 */
export function createDatabaseCheck (client: Redis, database: number): () => Promise<void> {
  if (database === 0) return async () => {}
  let isSelected = false
  client.on('close', () => { isSelected = false })
  return async () => {
    if (isSelected) return
    // Each call selects for itself: a SELECT that is under way may be refused for lack of a right that was given meanwhile.
    await client.select(database)
    isSelected = true
  }
}
