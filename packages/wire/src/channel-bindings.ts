/** The ways in which evidence of a broker can be tied to the client's connection, weakest first, and what each means. */
export const bindingSentences = {
  none: 'The evidence was not compared with the connection, so content may go to another machine.',
  key: 'The evidence names the TLS key of the connection. A thief of that key could relay it from another machine.',
  channel: 'The evidence covers this very connection. Evidence that was relayed from another one fails.',
} as const;
