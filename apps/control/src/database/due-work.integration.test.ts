import { until } from '@sotto/test-servers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openTestDatabase } from '../testing/test-database.integration.ts';
import { DueWork } from './due-work.ts';

const { pool } = await openTestDatabase();
await pool.query('create table letters (send_at timestamptz not null)');
const question = 'exists (select from letters where send_at <= $1)';

const rethrow = (error: unknown): never => {
  throw error;
};
let clock = Date.parse('2027-01-01T00:00:00Z');
let due: DueWork;
beforeEach(() => {
  due = new DueWork(pool, () => clock, rethrow);
  due.start();
});
afterEach(async () => {
  await due.stop();
  await pool.query('delete from letters');
});

const write = (sendAt: number) => pool.query('insert into letters values ($1)', [new Date(sendAt)]);
const sendDue = () => pool.query('delete from letters where send_at <= $1', [new Date(clock)]);

it('runs a task at its start, then only when its question is answered with yes', async () => {
  let runs = 0;
  const task = due.when(
    { question, everyMs: 1_000 },
    async () => {
      runs += 1;
      await sendDue();
    },
    rethrow,
  );
  const asked: number[] = [];
  const other = due.when({ question: 'true', everyMs: 1_000 }, async () => void asked.push(runs), rethrow);
  task.start();
  other.start();
  await write(clock + 60_000);
  await until(() => asked.length > 3, 'all were asked several times');
  expect(runs).toBe(1);
  clock += 60_000;
  await until(() => runs === 2, 'the letter is due');
  await until(async () => (await pool.query('select 1 from letters')).rowCount === 0, 'it is sent');
  await task.stop();
  await write(clock);
  const after = asked.length;
  await until(() => asked.length > after + 1, 'the others are asked');
  expect(runs).toBe(2);
  await other.stop();
});

it('asks at once what this process wrote, long before the interval is over', async () => {
  let runs = 0;
  const countRuns = async (): Promise<void> => {
    runs += 1;
  };
  const task = due.when({ question, everyMs: 3_600_000 }, countRuns, rethrow);
  task.start();
  await until(() => runs === 1, 'it ran at its start');
  await write(clock);
  due.wake();
  await until(() => runs === 2, 'the letter was found');
  await task.stop();
});

it('asks no sooner for a task that no hint concerns', async () => {
  const ran: string[] = [];
  const everyMs = 3_600_000;
  const slow = due.when({ question, everyMs, isHintable: false }, async () => void ran.push('slow'), rethrow);
  const quick = due.when({ question, everyMs }, async () => void ran.push('quick'), rethrow);
  for (const task of [slow, quick]) task.start();
  await until(() => ran.length === 2, 'both ran at their start');
  await write(clock);
  due.wake();
  // One statement asks for all tasks, and wakes them in the order in which they started.
  await until(() => ran.filter((name) => name === 'quick').length === 2, 'the letter was found');
  expect(ran).toEqual(['slow', 'quick', 'quick']);
  for (const task of [slow, quick]) await task.stop();
});

it('runs a task that fails again while its question is answered with yes', async () => {
  const failures: unknown[] = [];
  await write(clock);
  const task = due.when(
    { question, everyMs: 1_000 },
    async () => {
      if (failures.length < 2) throw new Error('no post');
      await sendDue();
    },
    (error) => failures.push(error),
  );
  task.start();
  await until(
    async () => (await pool.query('select 1 from letters')).rowCount === 0,
    'it is sent at the third attempt',
  );
  expect(failures).toHaveLength(2);
  await task.stop();
});

it('lets every task look for itself while one question cannot be answered', async () => {
  let runs = 0;
  const failures: unknown[] = [];
  const broken = new DueWork(
    pool,
    () => clock,
    (error) => failures.push(error),
  );
  const task = broken.when(
    { question, everyMs: 1_000 },
    async () => {
      runs += 1;
    },
    rethrow,
  );
  const other = broken.when(
    { question: 'exists (select from no_such_table)', everyMs: 1_000 },
    async () => {},
    rethrow,
  );
  for (const each of [task, other, broken]) each.start();
  await until(() => runs > 2, 'the task runs though nothing is due');
  expect(failures.length).toBeGreaterThan(0);
  for (const each of [task, other, broken]) await each.stop();
});
