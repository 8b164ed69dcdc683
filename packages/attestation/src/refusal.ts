/**
 * Why a check did not pass. Thrown inside this package only, where reading evidence stops; a `CheckList` turns it into
 * an outcome, so that nothing public throws. The message never quotes evidence beyond names, numbers and digests.
 */
export class Refusal extends Error {
  override readonly name: string = 'Refusal';
}

/** The check could not be made with what was given: less than a pass, but no proof of a fault either. */
export class Unmade extends Refusal {
  override readonly name = 'Unmade';
}
