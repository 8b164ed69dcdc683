import { describe, expect, it } from 'vitest';
import { openReasoning, openSignature, sealReasoning, sealSignature } from './reasoning-envelope.ts';

const signed = {
  type: 'reasoning.text' as const,
  text: 'héllo',
  signature: 'EqQB…==',
  format: 'anthropic-claude-v1',
  index: 2,
};
const encrypted = {
  type: 'reasoning.encrypted' as const,
  data: 'x'.repeat(100),
  format: 'google-gemini-v1',
  id: 'call_1',
};

describe('kept reasoning', () => {
  it('comes back as it was', () => {
    const kept = { text: 'héllo', details: [signed, encrypted] };
    expect(openReasoning(sealReasoning(kept))).toEqual(kept);
  });

  it('says that it comes from here and in which version', () => {
    expect(sealReasoning({ text: '', details: [] })).toMatch(/^sotto\.1\.[\w-]+$/);
  });

  it('does not depend on the order of the fields: a cached prompt must repeat it', () => {
    const { signature, ...rest } = signed;
    expect(sealReasoning({ text: '', details: [{ ...rest, signature }] })).toBe(
      sealReasoning({ text: '', details: [signed] }),
    );
  });

  it.each([
    ['another service', 'gAAAAABo'],
    ['another version', 'sotto.2.e30'],
    ['a damaged string', 'sotto.1.!!!'],
    ['a list', `sotto.1.${Buffer.from('[]').toString('base64url')}`],
    ['no string', undefined],
    ['another type', 7],
  ])('of %s is none', (_, sealed) => {
    expect(openReasoning(sealed)).toBeUndefined();
    expect(openSignature(sealed, 'text')).toBeUndefined();
  });

  it('drops pieces without what a provider needs', () => {
    const details = [{ type: 'reasoning.text', text: 'unsigned' }, { type: 'reasoning.other' }, 'x', encrypted];
    const sealed = `sotto.1.${Buffer.from(JSON.stringify({ text: 'a', details })).toString('base64url')}`;
    expect(openReasoning(sealed)).toEqual({ text: 'a', details: [encrypted] });
  });
});

describe('a signature', () => {
  it('comes back with the text beside it, and does not hold that text', () => {
    const sealed = sealSignature(signed);
    expect(Buffer.from(sealed.slice(8), 'base64url').toString()).not.toContain('héllo');
    expect(openSignature(sealed, 'héllo')).toEqual({ text: 'héllo', details: [signed] });
  });

  it('of a trace that no provider signed keeps the trace alone', () => {
    expect(openSignature(sealSignature(undefined), 'plain')).toEqual({ text: 'plain', details: [] });
    expect(openSignature(sealSignature({ type: 'reasoning.text', text: 'a' }), 'a')).toEqual({
      text: 'a',
      details: [],
    });
  });
});
