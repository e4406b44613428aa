#!/usr/bin/env python3
"""Makes the files of this folder whose originals have no licence that allows a copy: the same columns and spellings, invented values.

    crates/standoff-nn/tests/formats/make.py

The other files are the first 200 lines of the official ones, under CC BY 4.0: adult.data and adult.test (Barry Becker and Ronny Kohavi,
https://doi.org/10.24432/C5XW20), german.data (Hans Hofmann, https://doi.org/10.24432/C5NC77).
"""

import gzip
import random
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMPAS = (
    "id,name,first,last,compas_screening_date,sex,dob,age,age_cat,race,juv_fel_count,decile_score,juv_misd_count,juv_other_count,"
    "priors_count,days_b_screening_arrest,c_jail_in,c_jail_out,c_case_number,c_offense_date,c_arrest_date,c_days_from_compas,"
    "c_charge_degree,c_charge_desc,is_recid,r_case_number,r_charge_degree,r_days_from_arrest,r_offense_date,r_charge_desc,r_jail_in,"
    "r_jail_out,violent_recid,is_violent_recid,vr_case_number,vr_charge_degree,vr_offense_date,vr_charge_desc,type_of_assessment,"
    "decile_score,score_text,screening_date,v_type_of_assessment,v_decile_score,v_score_text,v_screening_date,in_custody,out_custody,"
    "priors_count,start,end,event,two_year_recid"
)


def compas(draw: random.Random) -> str:
    """Two pairs of columns with one name, dates, quoted commas, empty cells."""
    lines = [COMPAS]
    for i in range(1, 200):
        day = f"2013-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"
        age, priors, score, again = draw.randint(18, 70), draw.randint(0, 9), draw.randint(1, 10), draw.randint(0, 1)
        sex = draw.choice(["Male", "Male", "Female"])
        race = draw.choice(["African-American", "Caucasian", "Hispanic", "Other"])
        charge = draw.choice(['"Battery, second offence"', "Driving Without A License", "arrest case no charge"])
        head = f"{i},first{i} last{i},first{i},last{i},{day},{sex},{2013 - age}-04-18,{age},25 - 45,{race},0,{score},0,0,{priors},-1"
        case = f"{day} 06:03:42,{day} 18:41:20,13{i:06}CF10A,{day},,1,{draw.choice('FM')},{charge},{again}"
        tail = f",,,,,,,,0,,,,,Risk of Recidivism,{score},Low,{day},Risk of Violence,1,Low,{day},{day},{day},{priors},0,327,0,{again}"
        lines.append(f"{head},{case},{tail}")
    return "\n".join(lines) + "\n"


def arrests(draw: random.Random) -> str:
    lines = ["released,colour,year,age,sex,employed,citizen,checks"]
    for _ in range(199):
        words = [draw.choice(["Yes", "No"]) for _ in range(3)]
        who = f"{draw.choice(['White', 'Black'])},{draw.randint(1997, 2002)},{draw.randint(14, 60)},{draw.choice(['Male', 'Female'])}"
        lines.append(f"{words[0]},{who},{words[1]},{words[2]},{draw.randint(0, 6)}")
    return "\n".join(lines) + "\n"


def aligned(draw: random.Random) -> str:
    """Columns of numbers, aligned by blanks, as german.data-numeric has them; no header."""
    rows = [[draw.randint(1, 4), draw.randint(4, 72), draw.randint(200, 20000), draw.randint(1, 2)] for _ in range(200)]
    return "".join("".join(f"{v:6}" for v in row) + " \n" for row in rows)


def report(draw: random.Random) -> str:
    """Lines before the table, a comment inside it, semicolons, decimal commas, missing values in three spellings."""
    lines = ["Report on pay", "printed on 2020-01-05; all rights reserved", "pay;age;sex;hired"]
    for i in range(196):
        age = draw.choice(["NA", "#N/A", "", *[f"{draw.randint(18, 65)},5"] * 17])
        lines.append(f"{draw.choice(['high', 'low'])};{age};{draw.choice('FM')};{1 + i % 28}.03.2019")
    lines.insert(100, "# page 2")
    return "\n".join(lines) + "\n"


def main() -> None:
    draw = random.Random(1)
    (HERE / "compas.csv").write_text(compas(draw))
    (HERE / "arrests.csv.gz").write_bytes(gzip.compress(arrests(draw).encode(), mtime=0))
    (HERE / "aligned.txt").write_text(aligned(draw))
    (HERE / "report.csv").write_text(report(draw))


if __name__ == "__main__":
    main()
