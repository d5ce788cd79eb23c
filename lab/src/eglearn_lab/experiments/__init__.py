"""The paper's illustrations, drawn again from scratch: one module each, with what it claims and what was measured."""
