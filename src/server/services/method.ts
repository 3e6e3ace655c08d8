import { Empty, type MessageCodec } from '../../hbase/wire/schema.js';
import { messageAnswer } from '../rpc/answer.js';
import type { Handler } from '../rpc/request.js';

/** A method whose request and response are messages without cells. */
export function method<Q, A>(
  request: MessageCodec<Q>,
  answer: MessageCodec<A>,
  run: (asked: Q) => A | Promise<A>,
): Handler {
  return ({ reader }) => {
    const answered = run(request.read(reader));
    return answered instanceof Promise
      ? answered.then((value) => messageAnswer(answer, value))
      : messageAnswer(answer, answered);
  };
}

/** A method with a constant response. */
export function constant<A>(answer: MessageCodec<A>, value: A): Handler {
  return () => messageAnswer(answer, value);
}

/** A method with an empty response. */
export const nothing: Handler = constant(Empty, {});
