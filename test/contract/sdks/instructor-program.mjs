// Streams an object with Instructor from an answer that breaks off, and prints that its loop begins, and how it ends.
// Usage: instructor-program.mjs BASE_URL KEY MODEL TEXT
import createInstructor from '@instructor-ai/instructor';
import OpenAI from 'openai';
import { z } from 'zod/v3';

const [baseURL, apiKey, model, content] = process.argv.slice(2);
const client = createInstructor({ client: new OpenAI({ baseURL, apiKey, maxRetries: 0 }), mode: 'JSON' });
const stream = await client.chat.completions.create({
  model,
  messages: [{ role: 'user', content }],
  response_model: { name: 'said', schema: z.object({ city: z.string() }) },
  stream: true,
});
console.log('begins');
try {
  for await (const _ of stream);
  console.log('ended');
} catch {
  console.log('failed');
}
