import { randomUUID } from 'node:crypto';

/**
 * The part of a chat answer's id that its translation and its items share. Random for an answer without one, such as a
 * stream that begins with a keep-alive: programs take answers with equal ids for one answer.
 */
export const answerIdOf = (chatId: string | undefined): string =>
  chatId?.replace(/^chatcmpl-/, '') ?? randomUUID().replaceAll('-', '');
