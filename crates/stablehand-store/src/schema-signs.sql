-- What the index of words does not know: signs, emoji, scripts without spaces. See signs.rs.
CREATE VIRTUAL TABLE signs USING fts5(
    text, content = '', columnsize = 0, detail = none, tokenize = 'ascii'
);
