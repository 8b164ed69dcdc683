/** The answer that the page of `sotto playground` reads from the command. */
export { type PlaygroundStanding, type ShownEnclave, type ShownGateway, standingPath } from './standing.ts';
