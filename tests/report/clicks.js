// Added to a report by check_report.sh: sorts a table and filters the findings, and writes what changed into the title.
"use strict";
{
  const table = document.querySelector("table.sortable");
  const column = () => Array.from(table.tBodies[0].rows, (row) => Number(row.cells[2].dataset.value ?? row.cells[2].textContent));
  const button = table.querySelectorAll("th button")[2];
  const ordered = (sign) => column().every((value, i, all) => !i || sign * (value - all[i - 1]) >= 0);
  button.click();
  const down = ordered(-1);
  button.click();
  const up = ordered(1);
  const input = document.querySelector("input[data-filters]");
  const shown = () => Array.from(document.querySelectorAll(input.dataset.filters)).filter((item) => !item.hidden).length;
  const all = shown();
  input.value = "Rank 1 ";
  input.dispatchEvent(new Event("input"));
  document.title = `rows ${column().length} down ${down} up ${up} findings ${all} filtered ${shown()}`;
}
